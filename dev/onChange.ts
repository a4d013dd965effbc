// Runs something again after each change of a folder.
import { watch } from 'node:fs';

/** An editor writes several files, and one in steps. */
const SETTLED_MS = 50;

/** Runs `act` after changes in the folder, once at a time. Returns what ends this. */
export function onChange(folder: string, act: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const run = onceAtATime(async () => {
    if (!isOver) await act();
  });
  const watcher = watch(folder, { recursive: true }, () => {
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
