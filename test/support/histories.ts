// Workflow histories in tests: replayed with the current code, written to files without machine names, and searched for
// personal data, which must never be in a history.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type History, historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { type ReplayHistoriesIterable, type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import { KYC } from '../../dev/chaos/requests.ts';
import type { Sql } from '../../src/database/pool.ts';
import { onTaskQueues } from '../../src/workflows/flows.ts';
import type { TestFlows } from './flows.ts';
import { testStack } from './stack.ts';
import './temporalRuntime.ts';

export const HISTORIES = fileURLToPath(new URL('../workflows/histories', import.meta.url));

export interface RecordedHistory {
  /** The file name without extension: `<flow>-<ending>`. */
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

/** Replays histories, by default with the code of src/workflows. Returns those that fail to replay, with the error. */
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
 * Replays every workflow that these tests have run, and searches its history for personal data and these words. Call it
 * after all tests of a file, before the flows are closed. Throws on the first failure.
 */
export async function replayEverything(flows: TestFlows, words: readonly string[] = []): Promise<void> {
  const { taskQueue } = flows.dependencies.config.temporal;
  const query = onTaskQueues(taskQueue);
  const secrets = [...(await personalWords(flows.sql)), ...words];
  const histories = flows.temporal.workflow.list({ query }).intoHistories({ concurrency: 5 });
  const { misfits } = await replay(withoutWords(histories, secrets));
  const [misfit] = misfits;
  if (misfit !== undefined) throw new Error(`${misfit.workflowId} does not replay: ${misfit.error}`);
}

/** Without those that have had no task, with which a replay does not end. */
async function* withoutWords(histories: ReplayHistoriesIterable, words: readonly string[]): ReplayHistoriesIterable {
  for await (const entry of histories) {
    if ((entry.history as History).events?.length === 1) continue;
    const found = findWords(entry.history as History, words);
    if (found.length > 0)
      throw new Error(`the history of ${entry.workflowId} contains personal data: ${found.join(', ')}`);
    yield entry;
  }
}

/** Replaces the host name and process id of the worker. */
const MACHINE = 'worker';

/** Returns the content of a history file, without machine names. */
export function historyText(history: History): string {
  const scrub = (key: string, value: unknown): unknown => {
    if (key === 'identity') return MACHINE;
    // Keep the first line, the error; the stack frames have paths of the machine.
    if (key === 'stackTrace' && typeof value === 'string') return value.split('\n')[0];
    const queue = value as { kind?: unknown } | null;
    return queue?.kind === 'TASK_QUEUE_KIND_STICKY' ? { ...queue, name: MACHINE } : value;
  };
  return `${JSON.stringify(JSON.parse(historyToJSON(history)), scrub, 2)}\n`;
}

/** Returns all text of a history, including the payloads. */
export function textOf(history: History): string {
  const texts: string[] = [];
  JSON.parse(historyToJSON(history), (key, value: unknown) => {
    if (typeof value === 'string') texts.push(key === 'data' ? Buffer.from(value, 'base64').toString('utf8') : value);
    return value;
  });
  return texts.join('\n');
}

/** Shorter words are substrings of many others. */
const WORD_LENGTH_MIN = 5;

/** Returns the words that occur in a history. */
export function findWords(history: History, words: readonly string[]): string[] {
  const text = textOf(history).toLowerCase();
  return words.filter((word) => text.includes(word.toLowerCase()));
}

/** Returns all names, addresses and numbers of persons and accounts, and all webhook URLs, in a test's database. */
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
  // Without the values that are common words.
  const { gender: _gender, city: _city, state: _state, ...kyc } = KYC;
  return [...rows.map(({ word }) => word), ...Object.values(kyc)];
}
