// An upgrade, side by side and under load: while the old processes serve, the migrations of the next release are
// applied to every table of money, and its functions replaced; then its processes start beside them, and the old ones
// stop. No request is refused, and what the old ones accepted ends. (laterTables.slow.test.ts: what they write into the
// new tables.)
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { migrate } from '../../src/database/migrate.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const SOURCE = path.join(import.meta.dirname, '../../src');
const QUEUE = `upgrade-${process.pid}`;
const CALLERS = 6;
const FUNDS = 500_000_000;
const TO_BANK = { accountNumber: '0123456789', bankCode: '058' };

/** Those that a movement of money reads or writes. */
const TABLES = (
  'ledger.accounts ledger.transactions ledger.postings payments transfers withdrawals inbound_credits virtual_accounts ' +
  'wallets events outbox idempotency_keys api_keys audit_log'
).split(' ');

let next: TestFlows | undefined;

const database = await createDatabase();
const folder = mkdtempSync(path.join(tmpdir(), 'migrations-'));
const old = await startTestFlows({
  databaseUrl: database.url,
  callersRetry: false,
  settings: { TEMPORAL_TASK_QUEUE: QUEUE, WORKER_ROLES: 'flows,relay' },
});

afterAll(async () => {
  await Promise.all([old.close(), next?.close()]);
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Callers that make one request after another until they are told to end. */
class Load {
  readonly refused: string[] = [];
  readonly withdrawals: string[] = [];
  readonly payments: string[] = [];
  answers = 0;
  #isOver = false;
  readonly #callers: Promise<void>[];

  constructor(flows: TestFlows, [from, to]: [string, string]) {
    this.#callers = Array.from({ length: CALLERS }, (_, caller) => this.#call(flows, from, to, caller));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  /** Resolves after this many further answers. */
  async untilMore(answers: number): Promise<void> {
    const from = this.answers;
    await waitFor('further answers', () => Promise.resolve(this.answers >= from + answers));
  }

  async #call({ test: api, credit }: TestFlows, from: string, to: string, caller: number): Promise<void> {
    for (let round = caller; !this.#isOver; round += 1) {
      switch (round % 3) {
        case 0:
          this.#note(await api.money(`/wallets/${from}/transfer`, { destinationWalletId: to, amount: 100 }));
          break;
        case 1:
          this.#note(await api.money(`/wallets/${from}/withdraw`, { amount: 10_000, ...TO_BANK }), this.withdrawals);
          break;
        default: {
          const body = { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: to };
          const payment = this.#note(await api.money('/payments', body), this.payments);
          if (payment === null) break;
          const { virtualAccount, payableAmount } = payment as {
            virtualAccount: { accountNumber: string };
            payableAmount: number;
          };
          this.#note(await credit(virtualAccount.accountNumber, payableAmount));
        }
      }
      this.#note(await api.get(`/wallets/${from}/balance`));
    }
  }

  #note(answer: Awaited<ReturnType<TestFlows['credit']>>, ids?: string[]): unknown {
    this.answers += 1;
    if (answer.status >= 300) {
      this.refused.push(`${answer.status} ${answer.text}`);
      return null;
    }
    ids?.push(answer.data.id);
    return answer.data;
  }
}

/** The folder of the next release: this one's migrations, and a column in each table, a table and an index. */
function writeNextMigrations(): void {
  cpSync(path.join(SOURCE, 'database/migrations'), folder, { recursive: true });
  for (const [index, table] of TABLES.entries()) {
    const file = path.join(folder, `${9001 + index}_later_column.sql`);
    writeFileSync(file, `ALTER TABLE ${table} ADD COLUMN added_later jsonb NOT NULL DEFAULT '{}';\n`);
  }
  writeFileSync(path.join(folder, '9101_later_table.sql'), 'CREATE TABLE later (id uuid PRIMARY KEY);\n');
  writeFileSync(
    path.join(folder, '9102_later_index_concurrently.sql'),
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS later_index ON payments (created_at);\n',
  );
}

/** As the next release replaces each of its functions. */
async function replaceFunctions(): Promise<void> {
  const functions = path.join(SOURCE, 'ledger/sql');
  for (const file of readdirSync(functions).toSorted()) {
    if (file.endsWith('.sql')) await old.sql.unsafe(readFileSync(path.join(functions, file), 'utf8'));
  }
}

test('an upgrade under load refuses nothing, and what the old processes accepted ends', async () => {
  const wallets: [string, string] = [await old.createWallet(undefined, { balance: FUNDS }), await old.createWallet()];
  const load = new Load(old, wallets);
  await load.untilMore(50);
  writeNextMigrations();
  const { applied } = await migrate(ownerOf(database.url), { folder: pathToFileURL(`${folder}/`) });
  expect(applied).toHaveLength(TABLES.length + 2);
  await load.untilMore(50);
  await replaceFunctions();
  await load.untilMore(50);

  next = await startTestFlows({
    databaseUrl: database.url,
    callersRetry: false,
    settings: { TEMPORAL_TASK_QUEUE: QUEUE, WORKER_ROLES: 'flows,relay' },
  });
  const nextWallets: [string, string] = [
    await next.createWallet(undefined, { balance: FUNDS }),
    await next.createWallet(),
  ];
  const nextLoad = new Load(next, nextWallets);
  await nextLoad.untilMore(50);
  await load.end();
  await old.stopWorker();
  await nextLoad.untilMore(50);
  await nextLoad.end();
  expect([...load.refused, ...nextLoad.refused]).toEqual([]);

  for (const [flows, { withdrawals, payments }] of [
    [old, load],
    [next, nextLoad],
  ] as const) {
    expect(Math.min(withdrawals.length, payments.length)).toBeGreaterThan(0);
    for (const id of withdrawals) await flows.untilStatus(`/withdrawals/${id}`, 'completed');
    for (const id of payments) await flows.untilStatus(`/payments/${id}`, 'settled');
  }
  expect((await verifyBooks(next.sql)).findings).toEqual([]);
});
