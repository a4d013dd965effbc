// Verification of the ledger. A finding is not an outage: it fails the flow at once, so that an operator looks at it.
import { activityInfo, heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { ledgerVerifications } from '../telemetry/metrics.ts';
import type { Progress } from '../verification/verify.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import type { LedgerVerificationActivities, VerificationResult } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { ledgerIntegrityViolation } from './failures.ts';

export function createLedgerVerificationActivities({
  sql,
  log,
}: Pick<ActivityDependencies, 'sql' | 'log'>): LedgerVerificationActivities {
  return {
    async verifyLedger(): Promise<VerificationResult> {
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
