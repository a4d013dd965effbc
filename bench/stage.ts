// The interface of a benchmark stage. `bench/main.ts` runs the stages one after the other, each on its own databases,
// and verifies their ledgers before the figures count.
import type { Supervisor } from '../dev/supervisor.ts';
import type { Measured } from './measure.ts';
import type { Plot } from './plot.ts';

export type DatabaseKind = 'books' | 'verified' | 'empty';

/** The environment of a stage. */
export interface Bench {
  /** A quick run: fewer and shorter rounds, less data. Its figures are not comparable. */
  quick: boolean;
  /** Runs the processes that the stage starts; they are stopped with the stage. */
  supervisor: Supervisor;
  /** The superuser's URL of the Postgres server under test. */
  adminUrl: string;
  /**
   * Creates a database, which is dropped with the stage. `books`: migrated, and verified after the stage. `verified`:
   * migrated, and the stage verifies it itself.
   */
  createDatabase: (kind: DatabaseKind) => Promise<string>;
  /** Prints one line to the terminal. */
  say: (line: string) => void;
}

/** A performance goal, mostly as a ratio of two figures of the same run. */
export interface Goal {
  text: string;
  atLeast?: number;
  atMost?: number;
  /** The measured value. */
  got: number;
}

/** The results of a stage. */
export interface StageResult {
  measured: Measured[];
  goals: Goal[];
  plots: Plot[];
  /** Notes on the figures: what could not run, and why. */
  notes: string[];
  /** Longer texts, such as query plans, by file name. */
  files?: Record<string, string>;
}

export interface Stage {
  name: string;
  /** One sentence: what is measured. */
  title: string;
  /** Runs only when it is named on the command line. */
  onRequest?: true;
  run: (bench: Bench) => Promise<StageResult>;
}

/** Thrown by a stage whose prerequisites are missing on this machine; the report records the reason. */
export class CannotRun extends Error {}

/** The superuser's URL of a database that a stage created. */
export function superuserUrl(adminUrl: string, databaseUrl: string): string {
  const url = new URL(adminUrl);
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}

/** Whether a goal was met. */
export function isMet({ atLeast, atMost, got }: Goal): boolean {
  return (atLeast === undefined || got >= atLeast) && (atMost === undefined || got <= atMost);
}
