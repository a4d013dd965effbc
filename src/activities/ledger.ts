// The activities that seal and verify the ledger. Seals are written outside of the database, where a login that can
// rewrite the database cannot rewrite them: to the log, and, as configured, to a file and to a URL.
import { open } from 'node:fs/promises';
import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Log } from '../telemetry/log.ts';
import { ledgerSealings, ledgerVerifications } from '../telemetry/metrics.ts';
import { listUnpublished, markPublished, pauseAfter, type Seal, sealNext, sealOf } from '../verification/seals.ts';
import type { Progress } from '../verification/verify.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import type { MaintenanceActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { ledgerIntegrityViolation } from './failures.ts';

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

const BATCH_SIZE = 500;
const REQUEST_MAX_MS = 10_000;

type Settings = Pick<Config['seals'], 'file' | 'webhookUrl'>;

/**
 * Publishes the seals that are not published yet, and returns how many they were. Each is written at least once: when
 * this fails in between, the next call writes it again. Throws when a file or URL does not take them.
 */
export async function publishSeals(sql: Sql, log: Log, settings: Settings): Promise<number> {
  let published = 0;
  for (;;) {
    const rows = await listUnpublished(sql, BATCH_SIZE);
    if (rows.length === 0) return published;
    const seals = rows.map(sealOf);
    for (const seal of seals) log.info({ seal }, 'ledger sealed');
    if (settings.file !== '') await appendTo(settings.file, seals);
    if (settings.webhookUrl !== '') await send(settings.webhookUrl, seals);
    await markPublished(sql, rows);
    published += rows.length;
  }
}

async function appendTo(file: string, seals: readonly Seal[]): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    await handle.appendFile(seals.map((seal) => `${JSON.stringify(seal)}\n`).join(''));
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function send(url: string, seals: readonly Seal[]): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ seals }),
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_MAX_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`SEAL_WEBHOOK_URL answered ${response.status}`);
}
