// Seals the ledger and publishes the seals. A seal that was made and not published is published by the next attempt.
import { heartbeat, sleep } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { ledgerSealings } from '../telemetry/metrics.ts';
import { pauseAfter, sealNext } from '../verification/seals.ts';
import type { LedgerSealingActivities, SealingResult } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { publishSeals } from './publishSeals.ts';

export function createLedgerSealingActivities({
  sql,
  log,
  config: { seals: settings },
}: Pick<ActivityDependencies, 'sql' | 'log'> & { config: Pick<Config, 'seals'> }): LedgerSealingActivities {
  return {
    async sealLedger(): Promise<SealingResult> {
      const result: SealingResult = { seals: 0, published: 0 };
      for (let isBehind = true; isBehind; ) {
        requireTimeLeft(0);
        const startedAt = performance.now();
        const sealed = await sealNext(sql, settings.lagMs);
        const pauseMs = pauseAfter(performance.now() - startedAt);
        result.seals += sealed.seals;
        result.published += await publishSeals(sql, log, settings);
        isBehind = sealed.isBehind;
        heartbeat(result);
        if (isBehind) await sleep(pauseMs);
      }
      ledgerSealings.inc();
      return result;
    },
  };
}
