// Workflow histories as tests use them: replayed with today's code, kept as files without what names a machine, and
// searched for what must never be in one.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type History, historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { type ReplayHistoriesIterable, type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import type { Sql } from '../../src/database/pool.ts';
import { taskQueueOf } from '../../src/workflows/flows.ts';
import { KYC } from './api.ts';
import type { TestFlows } from './flows.ts';
import { testStack } from './stack.ts';

export const HISTORIES = fileURLToPath(new URL('../workflows/histories', import.meta.url));

export interface RecordedHistory {
  /** `<flow>-<ending>`, the file's name. */
  name: string;
  workflowId: string;
  history: History;
}

export function recordedHistories(): RecordedHistory[] {
  const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => {
    const history = historyFromJSON(JSON.parse(readFileSync(path.join(HISTORIES, file), 'utf8')));
    const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
    return { name: path.basename(file, '.json'), workflowId, history };
  });
}

/** Replays histories, by default with the code of src/workflows. Answers those that it does not fit, and how. */
export async function replay(
  histories: ReplayHistoriesIterable,
  workflows: ReplayWorkerOptions | null = null,
): Promise<{ replayed: number; misfits: { workflowId: string; error: string }[] }> {
  const options = workflows ?? { workflowBundle: { codePath: testStack().workflowBundlePath } };
  const misfits: { workflowId: string; error: string }[] = [];
  let replayed = 0;
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    replayed += 1;
    if (error !== undefined) misfits.push({ workflowId, error: error.message });
  }
  return { replayed, misfits };
}

/**
 * Replays every flow that these tests have run, and looks into its history for what names a person. Call it when the
 * tests of a file are done, before the flows are closed. Throws for the first that does not pass.
 */
export async function replayEverything(flows: TestFlows): Promise<void> {
  const { taskQueue } = flows.services.config.temporal;
  const query = `TaskQueue IN ('${taskQueue}', '${taskQueueOf(taskQueue, 'payouts')}')`;
  const secrets = await personalWords(flows.sql);
  const histories = flows.temporal.workflow.list({ query }).intoHistories({ concurrency: 5 });
  const { misfits } = await replay(searched(histories, secrets));
  const [misfit] = misfits;
  if (misfit !== undefined) throw new Error(`${misfit.workflowId} does not replay: ${misfit.error}`);
}

async function* searched(histories: ReplayHistoriesIterable, words: readonly string[]): ReplayHistoriesIterable {
  for await (const one of histories) {
    const found = findWords(one.history as History, words);
    if (found.length > 0) throw new Error(`the history of ${one.workflowId} names a person: ${found.join(', ')}`);
    yield one;
  }
}

/** What replaces the name and process id of the machine that ran a flow. */
const MACHINE = 'worker';

/** The text of a history's file, without the names of machines. */
export function historyText(history: History): string {
  const scrub = (key: string, value: unknown): unknown => {
    if (key === 'identity') return MACHINE;
    // Its first line says what happened; the others say where, by the folders of one machine.
    if (key === 'stackTrace' && typeof value === 'string') return value.split('\n')[0];
    const queue = value as { kind?: unknown } | null;
    return queue?.kind === 'TASK_QUEUE_KIND_STICKY' ? { ...queue, name: MACHINE } : value;
  };
  return `${JSON.stringify(JSON.parse(historyToJSON(history)), scrub, 2)}\n`;
}

/** All text of a history, what is in payloads too. */
export function textOf(history: History): string {
  const texts: string[] = [];
  JSON.parse(historyToJSON(history), (key, value: unknown) => {
    if (typeof value === 'string') texts.push(key === 'data' ? Buffer.from(value, 'base64').toString('utf8') : value);
    return value;
  });
  return texts.join('\n');
}

/** Shorter words are in many others. */
const WORD_LENGTH_MIN = 5;

/** The words that stand in a history. */
export function findWords(history: History, words: readonly string[]): string[] {
  const text = textOf(history).toLowerCase();
  return words.filter((word) => text.includes(word.toLowerCase()));
}

/** Every name, address and number of a person or an account, and every webhook address, in a test's database. */
export async function personalWords(sql: Sql): Promise<string[]> {
  const rows = await sql<{ word: string }[]>`
    SELECT DISTINCT word FROM (
      SELECT unnest(ARRAY[email, full_name, phone]) AS word FROM wallets UNION ALL
      SELECT unnest(ARRAY[account_number, account_name]) FROM virtual_accounts UNION ALL
      SELECT unnest(ARRAY[sender_name, sender_account_number, account_number]) FROM inbound_credits UNION ALL
      SELECT unnest(ARRAY[account_number, account_name]) FROM withdrawals UNION ALL
      SELECT unnest(ARRAY[account_number, account_name]) FROM refunds UNION ALL
      SELECT unnest(ARRAY[account_number, account_name]) FROM payout_items UNION ALL
      SELECT url FROM webhook_endpoints
    ) w WHERE length(word) >= ${WORD_LENGTH_MIN}`;
  const { gender: _tooCommon, city: _aWordToo, state: _andThis, ...kyc } = KYC;
  return [...rows.map(({ word }) => word), ...Object.values(kyc)];
}
