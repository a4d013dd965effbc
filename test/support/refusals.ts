// How tests compare the errors of the API.
import { expect } from '@jest/globals';
import type { Answer } from './api.ts';

/** Expects this error, with exactly these details if any are given. */
export function expectError({ status, error }: Answer, expected: number, code: string, details?: object): void {
  expect([status, error.code, details === undefined ? undefined : error.details]).toEqual([expected, code, details]);
}

/** Expects VALIDATION_FAILED for these fields alone. */
export function expectInvalid(answer: Answer, ...fields: string[]): void {
  const details = { fields: fields.map((field) => expect.objectContaining({ field })) };
  expectError(answer, 400, 'VALIDATION_FAILED', details);
}
