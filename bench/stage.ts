// What a stage of the benchmark is, and what it is given. `bench/main.ts` runs the stages one after the other, each on
// databases of its own, and proves the books of every one of them before its figures count.
import type { Supervisor } from '../dev/supervisor.ts';
import type { Measured } from './measure.ts';
import type { Plot } from './plot.ts';

/** What a stage works with. */
export interface Bench {
  /** A short look: fewer and shorter rounds, smaller data. Its figures are not for comparing. */
  quick: boolean;
  /** Runs the processes that the stage starts; they are ended with the stage. */
  parts: Supervisor;
  /** A superuser's URL of the Postgres that is measured on. */
  adminUrl: string;
  /** Makes a database. `books`: migrated, for the service's role; verified after the stage. Dropped with the stage. */
  createDatabase: (kind: 'books' | 'empty') => Promise<string>;
  /** Takes one line for the person at the terminal. */
  say: (line: string) => void;
}

/** What was promised, as a ratio of two figures of the same run. */
export interface Goal {
  text: string;
  atLeast?: number;
  atMost?: number;
  /** The ratio that was reached. */
  got: number;
}

/** What a stage found out. */
export interface StageResult {
  measured: Measured[];
  goals: Goal[];
  plots: Plot[];
  /** Lines that a reader needs beside the figures: what could not run, and why. */
  notes: string[];
  /** Longer text to keep, such as query plans, by file name. */
  files?: Record<string, string>;
}

export interface Stage {
  name: string;
  /** One sentence: what is measured. */
  title: string;
  /** Runs only when it is named. */
  onRequest?: true;
  run: (bench: Bench) => Promise<StageResult>;
}

/** Thrown by a stage that misses something on this machine; the report says so in a line and goes on. */
export class CannotRun extends Error {}

/** The superuser's URL of a database that a stage made. */
export function superuserUrl(adminUrl: string, databaseUrl: string): string {
  const url = new URL(adminUrl);
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}

/** Whether a goal was met. */
export function isMet({ atLeast, atMost, got }: Goal): boolean {
  return (atLeast === undefined || got >= atLeast) && (atMost === undefined || got <= atMost);
}
