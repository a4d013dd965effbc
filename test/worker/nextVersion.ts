// The flows as the version after this one might have them: a payment does something more, if it began with that version.
import { patched, sleep } from '@temporalio/workflow';
import * as flows from '../../src/workflows/index.ts';

export async function payment(input: Parameters<typeof flows.payment>[0]) {
  if (patched('next')) await sleep(1);
  return await flows.payment(input);
}
