// The workflows of a later version: payments started with that version have an additional step.
import { patched, sleep } from '@temporalio/workflow';
import * as flows from '../../src/workflows/index.ts';

export async function payment(input: Parameters<typeof flows.payment>[0]) {
  if (patched('next')) await sleep(1);
  return await flows.payment(input);
}
