// Runs something again after each change of a folder.
import { watch } from 'node:fs';

/** An editor writes several files, and one in steps. */
const SETTLED_MS = 50;

/** Runs `act` after changes in the folder, once at a time, with the changed files. Returns what ends this. */
export function onChange(folder: string, act: (changed: string[]) => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const changed = new Set<string>();
  const run = onceAtATime(async () => {
    const files = [...changed];
    changed.clear();
    if (!isOver) await act(files);
  });
  const watcher = watch(folder, { recursive: true }, (_event, file) => {
    if (file !== null) changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(() => void run(), SETTLED_MS);
  });
  return () => {
    isOver = true;
    clearTimeout(timer);
    watcher.close();
  };
}

/** `act` never beside itself: however many calls come while it runs, it runs once more after that. */
export function onceAtATime(act: () => Promise<void>): () => Promise<void> {
  let isRunning = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isWanted) {
        isWanted = false;
        await act();
      }
    } finally {
      isRunning = false;
    }
  };
}
