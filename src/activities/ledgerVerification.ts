// Verification of the ledger. A finding is not an outage: it fails the flow at once, so that an operator looks at it.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { ledgerVerifications } from '../telemetry/metrics.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import type { LedgerVerificationActivities, VerificationResult } from '../workflows/ledgerVerification/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { ledgerIntegrityViolation } from './failures.ts';

/** How often a long verification reports its progress. */
const HEARTBEAT_EVERY_MS = 5_000;

export function createLedgerVerificationActivities({
  sql,
  log,
}: Pick<ActivityDependencies, 'sql' | 'log'>): LedgerVerificationActivities {
  return {
    async verifyLedger(): Promise<VerificationResult> {
      let progress = { done: 0, total: 0 };
      const beat = setInterval(() => heartbeat(progress), HEARTBEAT_EVERY_MS);
      try {
        const { findings, truncated, ...verified } = await verifyBooks(sql, {
          onProgress: (now) => {
            requireTimeLeft(0);
            progress = now;
          },
        });
        ledgerVerifications.inc({ outcome: findings.length === 0 ? 'ok' : 'violations' });
        if (findings.length === 0) return verified;
        log.error({ findings: findings.slice(0, 20) }, 'the ledger has violations');
        const kinds = [...new Set(findings.map(({ kind }) => kind))].join(', ');
        throw ledgerIntegrityViolation(
          `${truncated ? 'more than ' : ''}${findings.length} findings: ${kinds}; run \`ledger verify\``,
        );
      } finally {
        clearInterval(beat);
      }
    },
  };
}
