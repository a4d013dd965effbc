// The journal in one process: concurrent callers that each await their posting, on a hot account and distributed over
// all accounts. Baselines: pgbench, and one plain statement per posting through the same driver.
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { type BenchBook, newTransfer, openBook, pickAmount, pickPair, postOne, WALLETS } from '../book.ts';
import { callInParallel, type Measured, measureInterleaved, ratio, type Series } from '../measure.ts';
import { NO_PGBENCH, prepareTpcb } from '../pgbench.ts';
import type { Goal, Stage, StageResult } from '../stage.ts';

const UNIT = 'transfers/s';
const BARE_CALLERS = [1, 8, 64];

export const ledger: Stage = {
  name: 'ledger',
  title: `Postings through the journal in one process, each awaited; ${WALLETS.toLocaleString('en')} accounts. Hot: one account is in every transfer.`,
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 5;
    const seconds = bench.quick ? 2 : 4;
    const book = await openBook(await bench.createDatabase('books'));
    const bare = await BarePostings.open(book);
    try {
      const tpcb = await prepareTpcb(bench, seconds);
      const measured = await measureInterleaved(
        [
          ...(tpcb === undefined ? [] : [tpcb.simple, tpcb.prepared]),
          ...bare.series(seconds),
          ...journalSeries(book, seconds),
        ],
        rounds,
        bench.say,
      );
      return report(measured, tpcb?.simple.name, tpcb === undefined ? [NO_PGBENCH] : []);
    } finally {
      await Promise.all([bare.close(), book.close()]);
    }
  },
};

const journalName = (load: 'hot' | 'uniform', callers: number): string => `journal, ${load}, ${callers} callers`;
const bareName = (load: 'hot' | 'uniform', callers: number): string => `bare statement, ${load}, ${callers} callers`;

function journalSeries(book: BenchBook, seconds: number): Series[] {
  const postTransfer = async (): Promise<void> => {
    const { source, destination } = pickPair(book, 'hot');
    const { outcome } = await book.journal.post(newTransfer(book.book, source, destination));
    if (outcome !== 'posted') throw new Error(`a transfer was ${outcome}`);
  };
  return [
    ...[1, 8, 64, 512].flatMap((callers) =>
      (['uniform', 'hot'] as const).map((load) => ({
        name: journalName(load, callers),
        unit: UNIT,
        measure: () => callInParallel(callers, seconds, () => postOne(book, load)),
      })),
    ),
    {
      name: 'journal, hot, 64 callers, with resource row, event and message',
      unit: UNIT,
      measure: () => callInParallel(64, seconds, postTransfer),
    },
  ];
}

/** One plain statement per posting: the cost of a minimal ledger in the driver and the database. */
class BarePostings {
  readonly #book: BenchBook;
  readonly #sql: Sql;
  readonly #accounts: Map<string, number>;

  constructor(book: BenchBook, sql: Sql, accounts: Map<string, number>) {
    this.#book = book;
    this.#sql = sql;
    this.#accounts = accounts;
  }

  static async open(book: BenchBook): Promise<BarePostings> {
    // The application role may not insert postings directly.
    const sql = connect(book.url, { connectionsMax: Math.max(...BARE_CALLERS), role: 'owner' });
    const rows = await sql<{ id: string; accountId: number }[]>`
      SELECT w.id, a.id AS account_id
      FROM wallets w JOIN ledger.accounts a ON a.organisation_id = w.organisation_id AND a.code = w.account_code
      WHERE w.organisation_id = ${book.book.organisationId}`;
    return new BarePostings(book, sql, new Map(rows.map(({ id, accountId }) => [id, accountId])));
  }

  series(seconds: number): Series[] {
    return BARE_CALLERS.flatMap((callers) =>
      (['uniform', 'hot'] as const).map((load) => ({
        name: bareName(load, callers),
        unit: UNIT,
        measure: () => callInParallel(callers, seconds, () => this.#post(load)),
      })),
    );
  }

  async #post(load: 'hot' | 'uniform'): Promise<void> {
    const { source, destination } = pickPair(this.#book, load);
    const debit = this.#accounts.get(source) ?? 0;
    const credit = this.#accounts.get(destination) ?? 0;
    const { organisationId, environment } = this.#book.book;
    const id = newUuid();
    const amount = pickAmount();
    const written = await this.#sql`
      WITH locked AS MATERIALIZED (
        SELECT id FROM ledger.accounts
        WHERE organisation_id = ${organisationId} AND id IN (${debit}, ${credit}) ORDER BY id FOR NO KEY UPDATE
      ), debited AS (
        UPDATE ledger.accounts SET balance = balance - ${amount}, last_number = last_number + 1
        WHERE organisation_id = ${organisationId} AND id = ${debit} AND EXISTS (SELECT FROM locked)
        RETURNING balance, last_number
      ), credited AS (
        UPDATE ledger.accounts SET balance = balance + ${amount}, last_number = last_number + 1
        WHERE organisation_id = ${organisationId} AND id = ${credit} AND EXISTS (SELECT FROM debited)
        RETURNING balance, last_number
      ), transaction AS (
        INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, effective_at)
        VALUES (${organisationId}, ${environment}, ${id}, ${`bench/${id}`}, 'transfer', ${publicId('transfer', id)}, now())
      )
      INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id,
                                   amount, debit_balance_after, credit_balance_after, debit_number, credit_number)
      SELECT ${organisationId}, ${environment}, 1, ${id}, ${debit}, ${credit}, ${amount}, debited.balance, credited.balance,
             debited.last_number, credited.last_number
      FROM debited, credited`;
    if (written.count !== 1) throw new Error('a bare posting was not written');
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 5 });
  }
}

function report(measured: Measured[], tpcb: string | undefined, notes: string[]): StageResult {
  const ratioToTpcb = (load: 'hot' | 'uniform', callers: number, atLeast: number): Goal[] =>
    tpcb === undefined
      ? []
      : [
          {
            text: `${journalName(load, callers)} ÷ pgbench TPC-B`,
            atLeast,
            got: ratio(measured, journalName(load, callers), tpcb),
          },
        ];
  return {
    measured,
    goals: [
      ...ratioToTpcb('hot', 64, 5),
      ...ratioToTpcb('uniform', 64, 5),
      ...ratioToTpcb('hot', 512, 8),
      ...ratioToTpcb('uniform', 512, 8),
      {
        text: 'hot ÷ uniform, 64 callers',
        atLeast: 0.9,
        got: ratio(measured, journalName('hot', 64), journalName('uniform', 64)),
      },
      {
        text: 'hot ÷ uniform, 512 callers',
        atLeast: 0.9,
        got: ratio(measured, journalName('hot', 512), journalName('uniform', 512)),
      },
      {
        text: 'one caller ÷ bare statement, uniform',
        atLeast: 0.7,
        got: ratio(measured, journalName('uniform', 1), bareName('uniform', 1)),
      },
      {
        text: 'one caller ÷ bare statement, hot',
        atLeast: 0.7,
        got: ratio(measured, journalName('hot', 1), bareName('hot', 1)),
      },
    ],
    plots: [
      {
        name: 'throughput',
        title: 'Postings a second, each awaited',
        unit: `${UNIT} (median; whisker: least to most)`,
        bars: measured,
      },
    ],
    notes,
  };
}
