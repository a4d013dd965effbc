// The start of a worker on a database that was restored to an earlier time than Temporal (docs/operating.md): the bank
// may have paid what the books do not know, and the wallets have that money again. So the rails are paused before the
// worker sends anything, until an operator has reconciled and resumes them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Sql } from '../database/pool.ts';
import { ENVIRONMENTS } from '../money.ts';
import { findNewestLostFlow } from '../recovery/lostFlows.ts';
import { WORKER_PROOF } from '../resources/proofs.ts';
import { pauseRail } from '../resources/rails/pauses.ts';
import type { Log } from '../telemetry/log.ts';

const RETRY_MS = 1_000;

/** Waits for database and Temporal, and compares them. */
export async function guardRestore(context: { sql: Sql; client: Client; taskQueue: string; log: Log }): Promise<void> {
  for (let isReported = false; ; isReported = true) {
    try {
      await compare(context);
      return;
    } catch (error) {
      if (!isReported) context.log.warn({ err: error }, 'database and Temporal cannot be compared yet; retrying');
      await pause(RETRY_MS);
    }
  }
}

async function compare({ sql, client, taskQueue, log }: Parameters<typeof guardRestore>[0]): Promise<void> {
  const lost = await findNewestLostFlow({ sql, client }, taskQueue);
  if (lost === null) return;
  const reason = `The database does not have ${lost.id}, whose flow started at ${lost.startedAt.toISOString()}: it was restored to an earlier time`;
  for (const environment of ENVIRONMENTS) await pauseRail(sql, environment, { proof: WORKER_PROOF, reason });
  log.error({ flow: lost.id, startedAt: lost.startedAt }, 'the database is older than Temporal: no transfer is sent');
}
