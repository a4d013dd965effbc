// The fee schedules by rail, from a file that is validated when a process starts.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type FeeSchedules, feeSchedules } from './fees.ts';

/** Reads the schedules of a JSON file; empty: every rail has the default. Throws an error that says what is wrong. */
export function readFeeSchedules(file: string): FeeSchedules {
  if (file === '') return {};
  try {
    return feeSchedules.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new Error(`FEE_SCHEDULES_FILE: ${file} is not a file of fee schedules:\n${problem}`, { cause: error });
  }
}
