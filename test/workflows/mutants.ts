// Incompatible changes of the workflows: none of them follows the commands of the recorded histories. They prove that
// the replay test can fail.
import { sleep } from '@temporalio/workflow';
import * as flows from '../../src/workflows/index.ts';
import { showState } from '../../src/workflows/state.ts';

type InputOf<Flow extends (input: never) => unknown> = Parameters<Flow>[0];

/** Adds a command at the beginning. */
export async function payment(input: InputOf<typeof flows.payment>) {
  showState('begun');
  return await flows.payment(input);
}

export async function payout(input: InputOf<typeof flows.payout>) {
  await sleep(1_000);
  return await flows.payout(input);
}

/** Adds a command at the end. */
export async function payoutItem(input: InputOf<typeof flows.payoutItem>) {
  const result = await flows.payoutItem(input);
  await sleep(1_000);
  return result;
}

/** Adds a command at the end, or before it continues as new. */
export async function inboundCredit(input: InputOf<typeof flows.inboundCredit>) {
  try {
    return await flows.inboundCredit(input);
  } finally {
    showState('done');
  }
}

export async function recall(input: InputOf<typeof flows.recall>) {
  showState('begun');
  return await flows.recall(input);
}

/** Removes all commands. */
export async function railResume(_input: InputOf<typeof flows.railResume>) {
  return { flows: 0 };
}

export async function withdrawal(_input: InputOf<typeof flows.withdrawal>) {
  return { status: 'completed' };
}

export async function refund(_input: InputOf<typeof flows.refund>) {
  return { status: 'completed' };
}

export async function reviewCase(_input: InputOf<typeof flows.reviewCase>) {
  return { status: 'unclaimed' };
}

export async function dayProof() {
  showState('begun');
  return await flows.dayProof();
}

export async function hold(_input: InputOf<typeof flows.hold>) {
  return { status: 'released' };
}

export async function adjustment(_input: InputOf<typeof flows.adjustment>) {
  return { status: 'posted' };
}
