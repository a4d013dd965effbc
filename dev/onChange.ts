// Runs something again after each change of a folder.
import { watch } from 'node:fs';

/** An editor writes several files, and one in steps. */
const SETTLED_MS = 50;

/** Runs `act` after changes in the folder, once at a time. Returns what ends this. */
export function onChange(folder: string, act: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    await running; // a change that comes meanwhile counts
    running = act();
  };
  const watcher = watch(folder, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => void run(), SETTLED_MS);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
