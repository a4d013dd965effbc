// Sends a POST that moves money as callers do on a busy machine, where a request may exceed its deadline.
import { randomUUID } from 'node:crypto';
import type { Answer, Client } from './api.ts';
import { waitFor } from './waitFor.ts';

/** The answer, after the request was sent again with its key while it had exceeded its deadline or was in progress. */
export async function untilAnswered(client: Client, path: string, body: object, limitMs?: number): Promise<Answer> {
  const key = randomUUID();
  const send = async (): Promise<Answer | null> => {
    const answer = await client.money(path, body, key);
    const isForLater = answer.status === 504 || answer.error?.code === 'IDEMPOTENCY_IN_PROGRESS';
    return isForLater ? null : answer;
  };
  return await waitFor(`an answer to ${path}`, send, limitMs);
}
