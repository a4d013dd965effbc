// Forgetting rows that nobody needs any more, in batches so small that no request waits behind one.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../attempt.ts';
import type { Config } from '../config.ts';
import { forgetIdempotencyKeys, forgetWebhookAttempts } from '../records/housekeeping.ts';
import type { ActivityDependencies } from './dependencies.ts';

export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>;

/** How many rows were forgotten. */
export interface Forgotten {
  idempotencyKeys: number;
  webhookAttempts: number;
}

const BATCH_SIZE = 1_000;

export function createHousekeepingActivities({
  sql,
  config: { upkeep },
}: Pick<ActivityDependencies, 'sql'> & { config: Pick<Config, 'upkeep'> }) {
  async function inBatches(forget: (rowsMax: number) => Promise<number>): Promise<number> {
    let all = 0;
    for (;;) {
      requireTimeLeft(0);
      const forgotten = await forget(BATCH_SIZE);
      all += forgotten;
      heartbeat(all);
      if (forgotten < BATCH_SIZE) return all;
    }
  }

  return {
    async forgetOldRows(): Promise<Forgotten> {
      return {
        idempotencyKeys: await inBatches((max) => forgetIdempotencyKeys(sql, upkeep.idempotencyKeysKeptDays, max)),
        webhookAttempts: await inBatches((max) => forgetWebhookAttempts(sql, upkeep.webhookAttemptsKeptDays, max)),
      };
    },
  };
}
