// The activities that seal and verify the ledger.
import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { ledgerSealings, ledgerVerifications } from '../telemetry/metrics.ts';
import { pauseAfter, sealNext } from '../verification/seals.ts';
import type { Progress } from '../verification/verify.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import type { MaintenanceActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { ledgerIntegrityViolation } from './failures.ts';
import { publishSeals } from './publishSeals.ts';

export function createLedgerActivities({
  sql,
  log,
  config: { seals: settings },
}: Pick<ActivityDependencies, 'sql' | 'log'> & { config: Pick<Config, 'seals'> }): Pick<
  MaintenanceActivities,
  'sealLedger' | 'verifyLedger'
> {
  return {
    /** A seal that was made and not published is published by the next attempt. */
    async sealLedger() {
      const result = { seals: 0, published: 0 };
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

    /** A finding is not an outage: it fails the flow at once, so that an operator looks at it. */
    async verifyLedger() {
      const interrupted: Progress | undefined = activityInfo().heartbeatDetails;
      const { findings, truncated, ...verified } = await verifyBooks(sql, {
        from: interrupted?.checkpoint ?? null,
        onProgress: (progress) => {
          heartbeat(progress);
          requireTimeLeft(0);
        },
      });
      ledgerVerifications.inc({ outcome: findings.length === 0 ? 'ok' : 'violations' });
      if (findings.length === 0) return verified;
      log.error({ findings: findings.slice(0, 20) }, 'the ledger has violations');
      const kinds = [...new Set(findings.map(({ kind }) => kind))].join(', ');
      throw ledgerIntegrityViolation(
        `${truncated ? 'more than ' : ''}${findings.length} findings: ${kinds}; run \`ledger verify\``,
      );
    },
  };
}
