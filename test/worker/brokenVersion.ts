// The workflows of a version with a mistake: withdrawals have another first step, without `patched`.
import { sleep } from '@temporalio/workflow';
import * as flows from '../../src/workflows/index.ts';

export const failingFlows = flows.failingFlows;

export async function withdrawal(input: Parameters<typeof flows.withdrawal>[0]) {
  await sleep(1);
  return await flows.withdrawal(input);
}
