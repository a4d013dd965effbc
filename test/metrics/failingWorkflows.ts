// Workflows whose tasks fail, each for another reason.
import { defineSearchAttributeKey } from '@temporalio/common';
import { proxyActivities, sleep, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

const { take } = proxyActivities<{ take: (text: string) => Promise<void> }>({ startToCloseTimeout: '10 seconds' });

export async function throwsError(): Promise<void> {
  await sleep(1);
  throw new TypeError('a bug');
}

/** Its replay issues another command than its first run. */
export async function changes(): Promise<void> {
  if (workflowInfo().unsafe.isReplaying) await take('');
  else await sleep(1);
}

export async function sends(bytes: number): Promise<void> {
  await take('x'.repeat(bytes));
}

/** Asks for an attribute that the server does not have. */
export async function asksInvalid(): Promise<void> {
  upsertSearchAttributes([{ key: defineSearchAttributeKey('NoSuchAttribute', 'KEYWORD'), value: 'any' }]);
  await sleep(1);
}
