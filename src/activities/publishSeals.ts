// Writes seals outside of the database, where a login that can rewrite the database cannot rewrite them: to the log,
// and, as configured, to a file and to a URL.
import { open } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Log } from '../telemetry/log.ts';
import { listUnpublished, markPublished, type Seal, sealOf } from '../verification/seals.ts';

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
