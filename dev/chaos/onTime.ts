// Carries out a plan by its times.
import type { Timed } from './plan.ts';

/** Starts each at its time, without waiting for the one before. Resolves when all have ended. */
export async function onTime<What>(
  startedAt: number,
  plan: readonly Timed<What>[],
  act: (what: What, index: number, atMs: number) => Promise<void>,
): Promise<void> {
  await Promise.all(
    plan.map(({ what, atMs }, index) => after(startedAt + atMs - Date.now(), () => act(what, index, atMs))),
  );
}

export async function after(ms: number, act: () => void | Promise<void>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
  await act();
}
