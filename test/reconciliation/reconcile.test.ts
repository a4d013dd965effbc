// Reconciliation of books with a rail whose statement the tests write: catching up after an outage, books that stand by
// themselves, late postings, lost callbacks, the rail's own lines, and the balance at the bank.
import { afterAll, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { shiftClock } from '../../dev/chaos/clock.mjs';
import { createCreditPollingActivities } from '../../src/activities/creditPolling.ts';
import { createReconciliationActivities } from '../../src/activities/reconciliation.ts';
import type { TimeByRail } from '../../src/config.ts';
import type { Sql } from '../../src/database/pool.ts';
import { newUuid, parseId, publicId, type Uuid } from '../../src/ids.ts';
import { trialBalance } from '../../src/ledger/reports.ts';
import type { Book } from '../../src/money.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import type { BankRail, InboundCreditReport, StatementLine, UnreadRow } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { compareBalance } from '../../src/reconciliation/balance.ts';
import { listClearingLines } from '../../src/reconciliation/clearing.ts';
import { COMMITTED_AFTER_MS, signedAmount } from '../../src/reconciliation/lines.ts';
import { clearBreak } from '../../src/reconciliation/movements.ts';
import { listStoredBreaks } from '../../src/reconciliation/queries.ts';
import { NOT_ASKED, reconcileToDate } from '../../src/reconciliation/reconcile.ts';
import { depositMovement } from '../../src/resources/inboundCredits/movements.ts';
import { openReversalCase } from '../../src/resources/recalls/movements.ts';
import { postEntry } from '../../src/resources/statementEntries/movements.ts';
import { dayOf, dayStart } from '../../src/times.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi } from '../support/api.ts';
import { newCredit } from '../support/rows.ts';
import { asSuperuser } from '../support/stack.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const api = await startTestApi();

afterAll(() => api.close());

const ago = (ms: number): Date => new Date(Date.now() - ms);
/** Over a day ago, and not in the last two hours of an accounting day: a run reads them with the next day too. */
const longAgo = (): Date => ago(dayOf(ago(30 * HOUR)) === dayOf(ago(28 * HOUR)) ? 30 * HOUR : 33 * HOUR);

/** The bank of these tests, for any number of books. */
class StatedRail {
  readonly lines = new Map<Uuid, StatementLine[]>();
  readonly credits = new Map<string, InboundCreditReport>();
  readonly statementsRead: { organisationId: Uuid; from: Date; to: Date }[] = [];
  readonly failing = new Set<Uuid>();
  readonly unread: UnreadRow[] = [];
  /** Sessions whose record it has in a shape that cannot be read. */
  readonly unclear = new Set<string>();
  /** Runs when it is asked about a credit. */
  onAsked: () => Promise<unknown> = () => Promise.resolve();
  /** What it reports as its balance, as a rail whose rows may change for a month; null: its statement has one. */
  balance: number | null = null;

  list(book: Book, ...lines: StatementLine[]): void {
    this.lines.set(book.organisationId, [...(this.lines.get(book.organisationId) ?? []), ...lines]);
  }

  get rail(): BankRail {
    const sandbox = api.dependencies.rails.shared('test') as BankRail;
    const { capabilities } = sandbox;
    const changing = { lists: { changeForMs: 30 * DAY }, transfers: { ...capabilities.transfers, balance: true } };
    return {
      ...sandbox,
      capabilities: this.balance === null ? capabilities : { ...capabilities, ...changing },
      balance: () => Promise.resolve(this.balance),
      statement: ({ organisationId, from, to }) => {
        this.statementsRead.push({ organisationId, from, to });
        if (this.failing.has(organisationId)) return Promise.reject(new RailUnavailableError('away'));
        const before = (this.lines.get(organisationId) ?? []).filter(({ at }) => at < to);
        return Promise.resolve({
          lines: before.filter(({ at }) => at >= from),
          unread: this.unread.filter(({ at }) => at >= from && at < to),
          nextCursor: null,
          closingBalance: this.balance === null ? before.reduce((sum, one) => sum + signedAmount(one), 0) : null,
        });
      },
      findInboundCredit: async ({ sessionId }) => {
        await this.onAsked();
        if (this.unclear.has(sessionId)) throw new RailUnavailableError('unreadable', { ofOneAccount: true });
        const credit = this.credits.get(sessionId);
        return credit === undefined ? null : { ...credit, recalledAt: null };
      },
      listInboundCredits: ({ from }) =>
        Promise.resolve({
          credits: [...this.credits.values()]
            .filter(({ receivedAt }) => receivedAt >= from)
            .map((credit) => ({ ...credit, recalledAt: null })),
          nextCursor: null,
        }),
      transferStatus: () => Promise.resolve(null),
    };
  }

  /** What the activities of a worker with this rail need. */
  get dependencies() {
    return { ...api.dependencies, rails: new Rails({ test: this.rail }) };
  }

  /** Runs the scheduled activity. */
  run(info: { heartbeatDetails?: unknown } = {}) {
    return new MockActivityEnvironment(info).run(
      createReconciliationActivities(this.dependencies).reconcileBooks,
      null,
    );
  }
}

const polledEvery = ({ dependencies }: StatedRail, creditPolling: TimeByRail) => ({
  ...dependencies,
  config: { ...dependencies.config, maintenance: { ...dependencies.config.maintenance, creditPolling } },
});

/** A book that was opened `days` ago, and is the only one unless stated otherwise. */
async function openBook(days: number, { keepOthers = false } = {}): Promise<Book & { wallet: string }> {
  if (!keepOthers) await api.sql`DELETE FROM organisations`;
  const organisation = await api.createOrganisation();
  const { organisationId } = organisation;
  await api.sql`UPDATE organisations SET created_at = ${ago(days * DAY)} WHERE organisation_id = ${organisationId}`;
  return { organisationId, environment: 'test', wallet: await api.createWallet(organisation.test) };
}
const bookOf = ({ organisationId, environment }: Book): Book => ({ organisationId, environment });

/** A credit to the wallet of the book, stored as received. */
async function received(book: Book & { wallet: string }, sessionId: string, amount: number, receivedAt: Date) {
  const [owner] = await api.sql<{ id: Uuid }[]>`
    SELECT id FROM wallets WHERE organisation_id = ${book.organisationId} AND kind = 'end_user'`;
  const credit = newCredit({ sessionId, amount, receivedAt, ownerKind: 'wallet', ownerId: owner?.id ?? null });
  await api.dependencies.journal.post({ book: bookOf(book), rows: { inbound_credits: [credit] } });
  return {
    ...credit,
    post: () => api.dependencies.journal.post(depositMovement(bookOf(book), credit, owner?.id ?? '')),
  };
}

const line = (kind: StatementLine['kind'], reference: string, amount: number, at: Date): StatementLine => ({
  kind,
  reference,
  amount,
  charge: 0,
  at,
});

const breaksOf = async ({ organisationId }: Book): Promise<string[]> => {
  const rows = await api.sql<{ kind: string; line: string; reference: string }[]>`
    SELECT kind, line, reference FROM reconciliation_breaks WHERE organisation_id = ${organisationId} ORDER BY reference`;
  return rows.map((one) => `${one.kind} ${one.line} ${one.reference}`);
};
const progressOf = async ({ organisationId }: Book) => {
  const [row] = await api.sql<{ reconciledTo: Date; readFrom: Date }[]>`
    SELECT reconciled_to, read_from FROM rail_progress WHERE organisation_id = ${organisationId}`;
  return row;
};
/** Reconciles as if it were this much later, so that what was just posted counts as committed. */
const reconcileLater = (rail: StatedRail, book: Book, ms = 2 * HOUR) => reconcileAt(rail, book, Date.now() + ms);
const reconcileAt = async (rail: StatedRail, book: Book, now: number) =>
  await reconcileToDate(
    api.dependencies,
    {
      ...NOT_ASKED,
      book: bookOf(book),
      rail: 'sandbox',
      hasHistory: true,
      readStatement: (period) => rail.rail.statement({ ...bookOf(book), ...period, cursor: null }),
      isKnown: ({ reference }) =>
        Promise.resolve(rail.lines.get(book.organisationId)?.some((one) => one.reference === reference) ?? false),
    },
    now,
  );
const findings = async ({ organisationId }: Book): Promise<string[]> =>
  (await verifyBooks(api.sql, { only: organisationId })).findings.map(
    ({ kind, account, expected, found }) => `${kind} ${account}: ${expected}, found ${found}`,
  );

describe('each book by itself', () => {
  test('an outage of days is caught up day by day of Lagos, from where the last run ended', async () => {
    const book = await openBook(4 + COMMITTED_AFTER_MS / DAY);
    const rail = new StatedRail();
    rail.list(book, line('sent', 'lost', 10, ago(3.5 * DAY)), line('sent', 'late', 10, ago(HOUR)));
    expect(await rail.run()).toMatchObject({ books: 1, failed: 0, lines: 2, breaks: 2 });
    const ends = rail.statementsRead.map(({ to }) => to);
    expect(ends.slice(0, -1)).toEqual(
      [3, 2, 1, 0].map((days) => dayStart(dayOf(ago(days * DAY + COMMITTED_AFTER_MS)))),
    );
    expect(ends).toHaveLength(5);
    expect(await breaksOf(book)).toEqual(['unmatched_statement sent late', 'unmatched_statement sent lost']);
    const { reconciledTo } = (await progressOf(book)) ?? {};
    expect(Date.now() - (reconciledTo?.getTime() ?? 0)).toBeLessThan(HOUR);

    const stopped = ago(2.5 * DAY);
    await api.sql`UPDATE rail_progress SET reconciled_to = ${stopped}, read_from = ${stopped}`;
    rail.list(book, line('sent', 'meanwhile', 10, ago(2 * DAY)));
    await rail.run();
    expect(await breaksOf(book)).toHaveLength(3);
    const days = (Date.parse(dayOf(ago(COMMITTED_AFTER_MS))) - Date.parse(dayOf(stopped))) / DAY + 1;
    expect(rail.statementsRead).toHaveLength(5 + days);
  });

  test('what the account of a contract had before it was connected is not compared', async () => {
    const book = await openBook(4);
    const rail = new StatedRail();
    await api.sql`
      INSERT INTO rail_contracts (organisation_id, environment, id, rail, sealed, connected_at)
      VALUES (${book.organisationId}, 'test', ${newUuid()}, ${rail.rail.name}, 'x', ${ago(2.5 * DAY)})`;
    rail.list(book, line('sent', 'before', 10, ago(3.5 * DAY)), line('sent', 'since', 10, ago(DAY)));
    await rail.run();
    expect(await breaksOf(book)).toEqual(['unmatched_statement sent since']);
  });

  test('nor is what it had while another contract of the same provider was connected', async () => {
    const book = await openBook(9);
    const rail = new StatedRail();
    const connect = (from: Date, to: Date | null) => api.sql`
      INSERT INTO rail_contracts (organisation_id, environment, id, rail, sealed, connected_at, disconnected_at)
      VALUES (${book.organisationId}, 'test', ${newUuid()}, ${rail.rail.name}, ${to === null ? 'x' : null}, ${from}, ${to})`;
    await connect(ago(8 * DAY), ago(4 * DAY));
    const stopped = ago(5 * DAY);
    await api.sql`
      INSERT INTO rail_progress (organisation_id, environment, rail, reconciled_to, read_from)
      VALUES (${book.organisationId}, 'test', ${rail.rail.name}, ${stopped}, ${stopped})`;
    await connect(ago(2.5 * DAY), null);
    rail.list(book, line('sent', 'before', 10, ago(3.5 * DAY)), line('sent', 'since', 10, ago(DAY)));
    await rail.run();
    expect(await breaksOf(book)).toEqual(['unmatched_statement sent since']);
  });

  test('a break in the last hour of a day, which the next day is compared with again, counts once', async () => {
    const book = await openBook(4);
    const rail = new StatedRail();
    const midnight = dayStart(dayOf(ago(2 * DAY))).getTime();
    rail.list(book, ...[1, 2].map(() => line('sent', 'twice', 10, new Date(midnight - HOUR / 2))));
    expect(await rail.run()).toMatchObject({ books: 1, failed: 0, lines: 2, breaks: 2 });
  });

  test('a book whose bank fails holds up no other, and continues from its own place', async () => {
    const failing = await openBook(2);
    const other = await openBook(1, { keepOthers: true });
    const rail = new StatedRail();
    rail.failing.add(failing.organisationId);
    rail.list(failing, line('sent', 'a', 10, ago(1.5 * DAY)));
    rail.list(other, line('sent', 'b', 10, ago(HOUR)));
    expect(await rail.run()).toMatchObject({ books: 2, failed: 1, breaks: 1 });
    expect([await breaksOf(failing), await breaksOf(other)]).toEqual([[], ['unmatched_statement sent b']]);
    expect(await progressOf(failing)).toBeUndefined();

    rail.failing.clear();
    expect(await rail.run()).toMatchObject({ books: 2, failed: 0 });
    expect(await breaksOf(failing)).toEqual(['unmatched_statement sent a']);
  });

  test('a retry continues after the last book, by the heartbeat', async () => {
    const first = await openBook(1);
    const second = await openBook(1, { keepOthers: true });
    const rail = new StatedRail();
    const total = { books: 1, failed: 0, lines: 7, breaks: 0, opened: 0 };
    expect(await rail.run({ heartbeatDetails: { after: bookOf(first), total } })).toMatchObject({ books: 2, lines: 7 });
    expect(new Set(rail.statementsRead.map(({ organisationId }) => organisationId))).toEqual(
      new Set([second.organisationId]),
    );
  });
});

describe('a transfer that came back before it was posted', () => {
  /** The reference of a withdrawal that failed. */
  async function failedWithdrawal({ organisationId, wallet }: Book & { wallet: string }): Promise<string> {
    const id = newUuid();
    await api.sql`
      INSERT INTO withdrawals (organisation_id, environment, id, version, source_wallet_id, amount, fee, status,
                               account_number, account_name, bank_code, bank_name, failure_reason, rail, created_at)
      VALUES (${organisationId}, 'test', ${id}, 1, ${parseId('wallet', wallet)}, 500, 0, 'failed',
              '0000000000', 'A', '000', 'B', 'rejected', 'sandbox', now())`;
    return publicId('withdrawal', id);
  }
  const ofBalances = async (book: Book) => (await findings(book)).filter((one) => one.startsWith('BANK_BALANCE'));

  test('a balance between its two lines is no finding; the next run reads from its first line, and the one after does not', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const sentAt = ago(HOUR);
    const reference = await failedWithdrawal(book);
    rail.list(book, line('sent', reference, 500, sentAt));
    await reconcileLater(rail, book);
    expect([await breaksOf(book), await ofBalances(book)]).toEqual([[], []]);
    expect((await progressOf(book))?.readFrom).toEqual(sentAt);

    rail.list(book, line('returned', reference, 500, ago(-3 * HOUR)));
    await reconcileLater(rail, book, 4 * HOUR);
    expect([await breaksOf(book), await ofBalances(book)]).toEqual([[], []]);
    expect((await progressOf(book))?.readFrom.getTime()).toBeGreaterThan(Date.now() + 3 * HOUR);
  });

  test('a return that no statement lists within a week is a break, and the next run reads on', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const reference = await failedWithdrawal(book);
    rail.list(book, line('sent', reference, 500, ago(HOUR)));
    await reconcileLater(rail, book, 6 * DAY);
    expect(await breaksOf(book)).toEqual([]);
    await reconcileLater(rail, book, 8 * DAY);
    expect(await breaksOf(book)).toEqual([`status sent ${reference}`]);
    expect((await progressOf(book))?.readFrom.getTime()).toBeGreaterThan(Date.now() + 7 * DAY);
  });

  test('a return that was listed days late is a break, and wakes its transfer once', async () => {
    const book = await openBook(4);
    const rail = new StatedRail();
    const reference = await failedWithdrawal(book);
    rail.list(
      book,
      line('sent', reference, 500, ago(3.5 * DAY)),
      line('returned', reference, 400, ago(3.5 * DAY - 60_000)),
    );
    const woken: string[] = [];
    const bank = {
      ...NOT_ASKED,
      book: bookOf(book),
      rail: 'sandbox',
      hasHistory: true,
      readStatement: (period: { from: Date; to: Date }) =>
        rail.rail.statement({ ...bookOf(book), ...period, cursor: null }),
      wakeTransfer: async (one: string) => void woken.push(one),
    };
    await reconcileToDate(api.dependencies, bank, Date.now());
    expect(await breaksOf(book)).toContain(`status returned ${reference}`);
    expect(woken).toEqual([reference]);
    await api.sql`
      UPDATE rail_progress SET read_from = ${ago(3.8 * DAY)}, reconciled_to = ${ago(3.8 * DAY)}
      WHERE organisation_id = ${book.organisationId}`;
    await reconcileToDate(api.dependencies, bank, Date.now());
    expect(woken).toEqual([reference]);
  });

  test('its lines may be in two parts of one run', async () => {
    const book = await openBook(4);
    const rail = new StatedRail();
    const reference = await failedWithdrawal(book);
    rail.list(book, line('sent', reference, 500, ago(3.5 * DAY)), line('returned', reference, 500, ago(0.5 * DAY)));
    await reconcileLater(rail, book);
    expect([await breaksOf(book), await ofBalances(book)]).toEqual([[], []]);
    expect((await progressOf(book))?.readFrom.getTime()).toBeGreaterThan(Date.now());
  });
});

describe('matching by reference', () => {
  test('a credit that is posted hours after the bank received it is no break, in any run', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const credit = await received(book, 'late', 1_000, ago(6 * HOUR));
    rail.list(book, line('credit', 'late', 1_000, ago(6 * HOUR)));
    // The worker was away: the credit is known and not posted. The next run reads the line again.
    expect(await rail.run()).toMatchObject({ lines: 1, breaks: 0 });
    expect(((await progressOf(book))?.readFrom ?? new Date()).getTime()).toBeLessThan(Date.now() - 5 * HOUR);
    expect(await credit.post()).toEqual({ outcome: 'posted' });
    expect(await rail.run()).toMatchObject({ breaks: 0 });
    expect(await reconcileLater(rail, book, DAY)).toMatchObject({ breaks: 0 });
    const { readFrom, reconciledTo } = (await progressOf(book)) ?? {};
    expect(readFrom).toEqual(reconciledTo);
  });

  test('a credit that is posted while the two sides are read is no break, and the balance is explained', async () => {
    const book = await openBook(1);
    const bank = new StatedRail();
    const late = await received(book, 'late', 5_000, ago(3 * HOUR));
    const sender = { senderName: null, senderAccountNumber: null, senderBankCode: null };
    const account = { accountNumber: '6999999999', accountReference: null };
    bank.credits.set('lost', { sessionId: 'lost', amount: 700, receivedAt: ago(3 * HOUR), ...account, ...sender });
    bank.list(book, line('credit', 'late', 5_000, ago(3 * HOUR)), line('credit', 'lost', 700, ago(3 * HOUR)));
    bank.onAsked = () => late.post();
    expect(await bank.run()).toMatchObject({ breaks: 0, opened: 0 });
    expect((await verifyBooks(api.sql, { only: book.organisationId })).findings).toEqual([]);
  });

  test('a resource that is still in progress after a week is a break', async () => {
    const book = await openBook(9);
    const rail = new StatedRail();
    await received(book, 'stuck', 1_000, ago(8 * DAY));
    rail.list(book, line('credit', 'stuck', 1_000, ago(8 * DAY)));
    await rail.run();
    expect(await breaksOf(book)).toEqual(['status credit stuck']);
  });

  test('a posting that the statement lacks is a break only if the rail does not know its reference', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    for (const sessionId of ['known', 'unknown']) {
      await (await received(book, sessionId, 500, ago(HOUR))).post();
    }
    const { receivedAt, ...credit } = await received(book, 'reported', 500, ago(HOUR));
    rail.credits.set('known', { ...credit, sessionId: 'known', receivedAt });
    const period = { from: ago(DAY).toISOString(), to: new Date(Date.now() + 2 * HOUR).toISOString() };
    const { reconcileBooks } = createReconciliationActivities(rail.dependencies);
    expect(await new MockActivityEnvironment().run(reconcileBooks, period)).toMatchObject({ breaks: 1 });
    expect(await breaksOf(book)).toEqual(['unmatched_ledger credit unknown']);
  });

  test('the lines of a period are read without the history of the account', async () => {
    const book = await openBook(1);
    await (await received(book, 'first', 500, ago(HOUR))).post();
    const [account] = await api.sql<{ id: number }[]>`
      SELECT id FROM ledger.accounts WHERE organisation_id = ${book.organisationId} AND code = 'clearing:sandbox'`;
    const { id = 0 } = account ?? {};
    // A year of postings on the account, one an hour.
    await api.sql`
      INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount, created_at)
      SELECT ${book.organisationId}, 'test', ledger.posting_id(at), gen_random_uuid(), ${id}, -1, 1, at
      FROM generate_series(now() + interval '1 hour', now() + interval '8760 hours', interval '1 hour') AS at`;
    const period = { from: new Date(Date.now() - DAY), to: new Date() };
    const [lines, read] = await api.sql.begin(async (sql) => [
      await listClearingLines(sql as unknown as Sql, { book: bookOf(book), rail: 'sandbox' }, period),
      await sql`SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'ledger.postings'::regclass`,
    ]);
    expect(read).toEqual([{ seqTupRead: 0, idxTupFetch: expect.any(Number) }]);
    expect(Number(read[0]?.idxTupFetch)).toBeLessThan(20); // some of the planner
    expect(lines.map(({ kind, reference, amount }) => `${kind} ${reference} ${amount}`)).toEqual(['credit first 500']);
    // The service may not delete postings, so this runs as the superuser.
    await asSuperuser(api.databaseUrl, (sql) => sql`DELETE FROM ledger.postings WHERE credit_account_id = -1`);
  });
});

describe('a credit without a callback', () => {
  const report = (sessionId: string, receivedAt: Date): InboundCreditReport => ({
    sessionId,
    accountNumber: '6999999999',
    accountReference: null,
    amount: 700,
    senderName: 'Bola Ade',
    senderAccountNumber: '0123456789',
    senderBankCode: '058',
    receivedAt,
  });
  const creditsOf = async ({ organisationId }: Book) => [
    ...(await api.sql`
      SELECT c.session_id, c.status, (SELECT count(*) FROM outbox o WHERE o.organisation_id = c.organisation_id) AS flows
      FROM inbound_credits c WHERE c.organisation_id = ${organisationId} ORDER BY session_id`),
  ];

  test('is imported by the poller, once, and when it was received within the last day', async () => {
    const book = await openBook(3);
    const rail = new StatedRail();
    for (const [name, at] of [
      ['lost', ago(HOUR)],
      ['under-way', ago(0)],
      ['old', ago(2 * DAY)],
    ] as const) {
      rail.credits.set(name, report(name, at));
    }
    const { pollCredits } = createCreditPollingActivities(polledEvery(rail, { usualMs: 0, ownMs: {} }));
    const poll = () => new MockActivityEnvironment().run(pollCredits, null);
    expect(await poll()).toEqual({ books: 1, failed: 0, recovered: 1 });
    expect(await poll()).toMatchObject({ recovered: 0 });
    expect(await creditsOf(book)).toEqual([{ sessionId: 'lost', status: 'received', flows: 1 }]);
    // After an outage of the poller it looks from where it ended, an hour back; not again at the whole day.
    await api.sql`UPDATE rail_progress SET listed_to = ${ago(6 * HOUR)}`;
    rail.credits.set('meanwhile', report('meanwhile', ago(5 * HOUR)));
    rail.credits.set('before', report('before', ago(8 * HOUR)));
    expect(await poll()).toMatchObject({ recovered: 1 });
    // Operators ask for a period, whatever was asked before.
    const listed = () => api.sql`SELECT listed_to FROM rail_progress`;
    const before = await listed();
    const period = { from: ago(3 * DAY).toISOString(), to: ago(7 * HOUR).toISOString() };
    expect(await new MockActivityEnvironment().run(pollCredits, period)).toMatchObject({ recovered: 2 });
    expect(await listed()).toEqual(before);
  });

  test('is imported if the account received it since its contract is connected', async () => {
    const book = await openBook(3);
    const rail = new StatedRail();
    await api.sql`
      INSERT INTO rail_contracts (organisation_id, environment, id, rail, sealed, connected_at)
      VALUES (${book.organisationId}, 'test', ${newUuid()}, ${rail.rail.name}, 'x', ${ago(3 * HOUR)})`;
    rail.credits.set('before', report('before', ago(4 * HOUR)));
    rail.credits.set('since', report('since', ago(2 * HOUR)));
    const { pollCredits } = createCreditPollingActivities(polledEvery(rail, { usualMs: 0, ownMs: {} }));
    expect(await new MockActivityEnvironment().run(pollCredits, null)).toMatchObject({ recovered: 1 });
    expect(await creditsOf(book)).toEqual([{ sessionId: 'since', status: 'received', flows: 1 }]);
  });

  test('is looked for by each rail as often as its setting says', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const poll = (every: TimeByRail) =>
      new MockActivityEnvironment().run(createCreditPollingActivities(polledEvery(rail, every)).pollCredits, null);
    await poll({ usualMs: 60_000, ownMs: {} });
    rail.credits.set('lost', report('lost', ago(HOUR)));
    const waits: TimeByRail[] = [
      { usualMs: 60_000, ownMs: {} },
      { usualMs: 0, ownMs: { sandbox: 60_000 } },
    ];
    for (const every of waits) expect(await poll(every)).toMatchObject({ recovered: 0 });
    expect(await creditsOf(book)).toEqual([]);
    expect(await poll({ usualMs: 60_000, ownMs: { sandbox: 0 } })).toMatchObject({ recovered: 1 });
  });

  test('is looked for, also after a time that was stored while the clock was ahead', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    const { pollCredits } = createCreditPollingActivities(polledEvery(rail, { usualMs: 60_000, ownMs: {} }));
    const poll = () => new MockActivityEnvironment().run(pollCredits, null);
    await poll();
    await api.sql`
      UPDATE rail_progress SET listed_to = ${ago(-DAY)}, credits_looked_back_at = ${ago(-DAY)}
      WHERE organisation_id = ${book.organisationId}`;
    rail.credits.set('lost', report('lost', ago(23 * HOUR)));
    expect(await poll()).toMatchObject({ recovered: 1 });
    const rows = await api.sql<{ listedTo: Date; lookedBackAt: Date }[]>`
      SELECT listed_to, credits_looked_back_at AS looked_back_at FROM rail_progress
      WHERE organisation_id = ${book.organisationId}`;
    const isPast = (at: Date): boolean => at <= new Date();
    expect(rows.map(({ listedTo, lookedBackAt }) => [isPast(listedTo), isPast(lookedBackAt)])).toEqual([[true, true]]);
  });

  test('on the statement is confirmed by the rail and imported; what the rail denies is a break', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    rail.credits.set('lost', report('lost', longAgo()));
    rail.list(book, line('credit', 'lost', 700, longAgo()), line('credit', 'phantom', 9, longAgo()));
    expect(await rail.run()).toMatchObject({ lines: 2, breaks: 1 });
    expect(await creditsOf(book)).toEqual([{ sessionId: 'lost', status: 'received', flows: 2 }]);
    expect(await breaksOf(book)).toEqual(['unmatched_statement credit phantom']);
  });

  test('whose record cannot be read is a break, and the others are imported', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    rail.unclear.add('garbled');
    rail.credits.set('lost', report('lost', longAgo()));
    rail.list(book, line('credit', 'garbled', 9, longAgo()), line('credit', 'lost', 700, longAgo()));
    expect(await rail.run()).toMatchObject({ failed: 0, lines: 2, breaks: 1 });
    expect(await creditsOf(book)).toMatchObject([{ sessionId: 'lost' }]);
    expect(await breaksOf(book)).toEqual(['unmatched_statement credit garbled']);
  });
});

describe('the balance at the bank', () => {
  test('charges, settlements and interest are posted once, and the books are the balance that the bank reports', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    await (await received(book, 's1', 100_000, ago(30 * HOUR))).post();
    rail.list(
      book,
      line('credit', 's1', 100_000, ago(30 * HOUR)),
      line('charge', 'c1', 1_000, ago(29 * HOUR)),
      line('settlement', 'p1', 40_000, ago(28 * HOUR)),
      line('interest', 'i1', 50, ago(27 * HOUR)),
    );
    expect(await rail.run()).toMatchObject({ breaks: 0, lines: 4 });
    expect(await findings(book)).toEqual(['SHORTFALL null: >= 0, found -950']); // it has no own money
    // Again over the same lines, and a day later.
    await api.sql`UPDATE rail_progress SET read_from = ${ago(2 * DAY)}`;
    await rail.run();
    expect(await reconcileLater(rail, book)).toMatchObject({ breaks: 0 });
    const rows = await api.sql<{ code: string; sum: number }[]>`
      SELECT a.code, sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END)::int AS sum
      FROM ledger.accounts a
      JOIN ledger.postings p ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
      WHERE a.organisation_id = ${book.organisationId} AND a.code NOT LIKE 'wallet:%' GROUP BY a.code ORDER BY a.code`;
    expect(Object.fromEntries(rows.map(({ code, sum }) => [code, sum]))).toEqual({
      'clearing:sandbox': -59_050,
      'expense:rail': -1_000,
      'income:interest': 50,
      'settlement:sandbox': -40_000,
    });
    expect(await findings(book)).toEqual(['SHORTFALL null: >= 0, found -950']); // it has no own money
  });

  test('interest is owed to customers where the deployment says so', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    rail.list(book, line('interest', 'i1', 50, ago(27 * HOUR)));
    const { config } = rail.dependencies;
    const dependencies = { ...rail.dependencies, config: { ...config, interest: 'customers' as const } };
    const { reconcileBooks } = createReconciliationActivities(dependencies);
    expect(await new MockActivityEnvironment().run(reconcileBooks, null)).toMatchObject({ breaks: 0 });
    expect(await trialBalance(api.sql, bookOf(book), new Date(Date.now() + 1_000))).toEqual([
      { account: 'clearing:sandbox', balance: -50 },
      { account: 'unclaimed:interest', balance: 50 },
    ]);
    expect(await findings(book)).toEqual([]);
  });

  test('money under way on either side is no finding, at any moment of a busy day', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    // The bank has it and we do not yet, the reverse, and both but only since the statement.
    await received(book, 'in-progress', 300, ago(2 * HOUR));
    rail.list(book, line('credit', 'in-progress', 300, ago(2 * HOUR)));
    await (await received(book, 'not-listed-yet', 70, ago(0))).post();
    const now = await received(book, 'now', 5, ago(0));
    await now.post();
    rail.list(book, line('credit', 'now', 5, ago(0)));
    expect(await rail.run()).toMatchObject({ breaks: 0 });
    expect(await findings(book)).toEqual([]);
    // Half an hour later: the posting that the bank does not list yet is committed, and still young.
    expect(await reconcileLater(rail, book, HOUR / 2)).toMatchObject({ breaks: 0 });
    expect(await findings(book)).toEqual([]);
    // Two hours later it is a break and a difference.
    expect(await reconcileLater(rail, book)).toMatchObject({ breaks: 1 });
    expect(await findings(book)).toEqual(['BANK_BALANCE_MISMATCH clearing:sandbox: -5, found -75']);
  });

  test('what is posted in the millisecond of the cut counts on neither side', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    const credit = await received(book, 's1', 1_000, ago(HOUR));
    rail.list(book, line('credit', 's1', 1_000, ago(HOUR)));
    await credit.post();
    const [posting] = await api.sql<{ createdAt: Date }[]>`
      SELECT created_at FROM ledger.postings WHERE organisation_id = ${book.organisationId} ORDER BY id DESC LIMIT 1`;
    const cutAt = posting?.createdAt.getTime() ?? 0;
    await reconcileAt(rail, book, cutAt + 60_000);
    expect(await findings(book)).toEqual([]);
  });

  test('a second run within the minute knows what was posted since the first one', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    const late = await received(book, 's1', 1_000, ago(HOUR));
    rail.list(book, line('credit', 's1', 1_000, ago(HOUR)));
    await late.post();
    expect(await rail.run()).toMatchObject({ breaks: 0 });
    expect(await rail.run()).toMatchObject({ breaks: 0 });
    expect(await findings(book)).toEqual([]);
  });

  test.each([300_000, -300_000])(
    'a worker whose clock is off by %i ms compares the same postings as the bank reports',
    async (offMs) => {
      const book = await openBook(2);
      const rail = new StatedRail();
      await (await received(book, 's1', 1_000, ago(HOUR))).post();
      rail.list(book, line('credit', 's1', 1_000, ago(HOUR)), line('charge', 'c1', 10, ago(HOUR)));
      const restoreClock = shiftClock(offMs);
      try {
        expect(await rail.run()).toMatchObject({ breaks: 0 });
      } finally {
        restoreClock();
      }
      // Posted since: not in the balance that the bank told.
      await (await received(book, 's2', 70, ago(0))).post();
      expect(await findings(book)).toEqual(['SHORTFALL null: >= 0, found -10']); // it has no own money
    },
  );

  test('a difference that no line explains is named by verify', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    await (await received(book, 's1', 1_000, ago(HOUR))).post();
    rail.list(book, line('credit', 's1', 1_000, ago(HOUR)), line('credit', 'before-the-book', 250, ago(30 * DAY)));
    expect(await reconcileLater(rail, book)).toMatchObject({ breaks: 0 });
    expect(await findings(book)).toEqual(['BANK_BALANCE_MISMATCH clearing:sandbox: -1250, found -1000']);
  });
});

describe('a row that cannot be read', () => {
  test('is set aside with its sealed text and a case, once, and the others count', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    rail.list(book, line('charge', 'monthly', 100, ago(HOUR)));
    rail.unread.push({ reference: 'row-1', at: ago(HOUR), raw: '{"amount":"2,500.00","senderName":"Ada"}' });
    expect(await rail.run()).toMatchObject({ failed: 0, lines: 1, breaks: 1, opened: 1 });
    expect(await breaksOf(book)).toEqual(['unreadable other_in row-1']);
    const [row] = await api.sql<{ id: string; sealedRow: string }[]>`
      SELECT id, sealed_row FROM reconciliation_breaks WHERE reference = 'row-1'`;
    expect(row?.sealedRow).not.toContain('Ada');
    expect(api.dependencies.keyring.open('rail-row', row?.id ?? '', row?.sealedRow ?? '')).toBe(rail.unread[0]?.raw);
    const period = { from: ago(DAY).toISOString(), to: ago(0).toISOString() };
    const { reconcileBooks } = createReconciliationActivities(rail.dependencies);
    const again = await new MockActivityEnvironment().run(reconcileBooks, period);
    expect(again).toMatchObject({ breaks: 1, opened: 0 });
    expect(await breaksOf(book)).toHaveLength(1);
  });

  test('has a case of its own, however many there are and whatever they say: a run opens a thousand', async () => {
    const book = await openBook(3);
    const rail = new StatedRail();
    const texts = fc.sample(fc.string({ unit: 'binary', maxLength: 300 }), { numRuns: 1_001, seed: Date.now() });
    // Of a day that is over, long before the hours that the next run reads again.
    const at = longAgo();
    rail.unread.push(...texts.map((raw, index) => ({ reference: `row-${index}`, at, raw })));
    expect(await rail.run()).toMatchObject({ failed: 0, breaks: 1_001, opened: 1_000 });
    expect(await rail.run()).toMatchObject({ failed: 0, breaks: 1_001, opened: 1 });
    expect(await rail.run()).toMatchObject({ failed: 0, breaks: 0, opened: 0 });
    const rows = await api.sql<{ id: string; sealedRow: string }[]>`
      SELECT b.id, b.sealed_row FROM reconciliation_breaks b JOIN review_cases c USING (organisation_id, id)
      WHERE b.organisation_id = ${book.organisationId} AND b.kind = 'unreadable'`;
    const opened = rows.map(({ id, sealedRow }) => api.dependencies.keyring.open('rail-row', id, sealedRow));
    expect(opened.toSorted()).toEqual(texts.map((text) => Buffer.from(text).toString()).toSorted());
  });
});

describe('a bank that changes its mind', () => {
  test('what it lists days late is found once a day, as far back as it may change a row', async () => {
    const book = await openBook(40);
    const rail = new StatedRail();
    rail.balance = 0;
    await rail.run();
    rail.list(book, line('sent', 'late', 10, ago(20 * DAY)), line('sent', 'too-late', 10, ago(35 * DAY)));
    await rail.run();
    expect(await breaksOf(book)).toEqual([]);
    await api.sql`UPDATE rail_progress SET looked_back_at = now() - interval '25 hours'`;
    expect(await rail.run()).toMatchObject({ breaks: 1, opened: 1 });
    expect(await breaksOf(book)).toEqual(['unmatched_statement sent late']);
    await api.sql`UPDATE rail_progress SET looked_back_at = now() - interval '25 hours'`;
    expect(await rail.run()).toMatchObject({ breaks: 0, opened: 0 });
  });

  test('what it says that it took back, and no statement has, stays a break until someone decides', async () => {
    const book = await openBook(2);
    const rail = new StatedRail();
    const reversal = { reference: 'unknown', amount: 700, at: ago(DAY) };
    await api.dependencies.journal.post(openReversalCase(bookOf(book), 'sandbox', reversal));
    await rail.run();
    const rows = await api.sql`
      SELECT b.kind, b.cleared_at, c.status FROM reconciliation_breaks b JOIN review_cases c ON c.id = b.id
      WHERE b.organisation_id = ${book.organisationId}`;
    expect([...rows]).toEqual([{ kind: 'reversal', clearedAt: null, status: 'open' }]);
  });
});

describe('a clock', () => {
  test('that was ahead and has gone back stops no comparison: the last day is compared again', async () => {
    const book = await openBook(40);
    const rail = new StatedRail();
    rail.balance = 0;
    await rail.run();
    const ahead = ago(-DAY);
    await api.sql`
      UPDATE rail_progress SET reconciled_to = ${ahead}, read_from = ${ahead}, looked_back_at = ${ahead}
      WHERE organisation_id = ${book.organisationId}`;
    rail.list(book, line('sent', 'since', 10, ago(23 * HOUR)), line('sent', 'late', 10, ago(20 * DAY)));
    expect(await rail.run()).toMatchObject({ breaks: 2, opened: 2 });
    const { reconciledTo, readFrom } = (await progressOf(book)) ?? {};
    expect([reconciledTo, readFrom].map((at) => Date.now() - (at?.getTime() ?? 0) < HOUR)).toEqual([true, true]);
    expect(reconciledTo?.getTime()).toBeLessThan(Date.now());
    expect(await rail.run()).toMatchObject({ breaks: 0, opened: 0 });
  });

  test('that is minutes behind closes the case of a cleared break, and the break opens it when it comes back', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const stated = line('sent', 'gone', 10, ago(HOUR / 2));
    const status = async () => {
      const rows = await api.sql<{ status: string }[]>`
        SELECT status FROM review_cases WHERE organisation_id = ${book.organisationId}`;
      return rows.map((row) => row.status);
    };
    rail.list(book, stated);
    expect(await rail.run()).toMatchObject({ breaks: 1, opened: 1 });
    rail.lines.clear();
    // A worker that ended between the two steps has cleared it.
    const period = { from: ago(HOUR), to: ago(0) };
    const [found] = await listStoredBreaks(api.sql, { book: bookOf(book), rail: 'sandbox' }, period);
    if (found !== undefined) await api.dependencies.journal.post(clearBreak(bookOf(book), found, ago(0)));
    const restoreClock = shiftClock(-300_000);
    try {
      expect(await rail.run()).toMatchObject({ breaks: 0 });
    } finally {
      restoreClock();
    }
    expect(await status()).toEqual(['closed']);
    rail.list(book, stated);
    expect(await rail.run()).toMatchObject({ breaks: 1, opened: 0 });
    expect(await status()).toEqual(['open']);
  });
});

describe('the balance that a bank reports', () => {
  const stored = async ({ organisationId }: Book) => {
    const rows = await api.sql<
      { reference: string; ledger: number; bank: number | null; amount: number; open: boolean }[]
    >`
      SELECT b.reference, b.ledger_amount AS ledger, b.statement_amount AS bank, c.amount, b.cleared_at IS NULL AS open
      FROM reconciliation_breaks b JOIN review_cases c ON c.id = b.id
      WHERE b.organisation_id = ${organisationId} AND b.kind = 'balance'`;
    return [...rows];
  };

  test('is what the books expect, or a break with its size, since it was first found, until it is explained', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    rail.balance = 5_000;
    await (await received(book, 'paid', 5_000, ago(HOUR))).post();
    rail.list(book, line('credit', 'paid', 5_000, ago(HOUR)));
    expect(await rail.run()).toMatchObject({ failed: 0, breaks: 0 });

    rail.balance = 4_100;
    expect(await rail.run()).toMatchObject({ breaks: 1, opened: 1 });
    expect(await stored(book)).toEqual([
      { reference: 'clearing:sandbox', ledger: 5_000, bank: 4_100, amount: 900, open: true },
    ]);
    expect(await findings(book)).toEqual(['BANK_BALANCE_MISMATCH clearing:sandbox: 5000, found 4100']);
    rail.balance = 4_000;
    expect(await rail.run()).toMatchObject({ breaks: 1, opened: 0 });
    expect(await stored(book)).toMatchObject([{ bank: 4_000, open: true }]);

    rail.balance = 5_000;
    expect(await rail.run()).toMatchObject({ breaks: 0 });
    expect(await stored(book)).toMatchObject([{ open: false }]);
    expect(await findings(book)).toEqual([]);
  });

  test('may have a credit that is listed and not posted yet', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    rail.balance = 700;
    await received(book, 'young', 700, ago(HOUR / 2));
    rail.list(book, line('credit', 'young', 700, ago(HOUR / 2)));
    expect(await rail.run()).toMatchObject({ breaks: 0 });
  });

  test('is explained whatever is posted while it is read, also what cancels out', async () => {
    const book = await openBook(1);
    const rail = new StatedRail();
    const [paid, charged] = [line('credit', 'paid', 100, ago(HOUR)), line('charge', 'c-1', 100, ago(HOUR))];
    const late = await received(book, 'paid', 100, paid.at);
    rail.list(book, paid, charged);
    const bank = {
      book: bookOf(book),
      rail: 'sandbox',
      readStatement: () => Promise.resolve({ lines: rail.lines.get(book.organisationId) ?? [] }),
    };
    // The bank has the credit, and the charge a moment later; the books have neither, and then both.
    const read = async () => {
      await late.post();
      await api.dependencies.journal.post(
        postEntry(bookOf(book), { rail: 'sandbox', kind: 'charge', reference: 'c-1', amount: 100, at: charged.at }),
      );
      return 100;
    };
    const account = { account: 'clearing:sandbox', read, changeBy: signedAmount };
    const compare = (one: typeof account) => compareBalance(api.dependencies, bank, one, Date.now());
    expect(await compare(account)).toEqual({ breaks: 0, opened: 0 });
    expect(await findings(book)).toEqual(['SHORTFALL null: >= 0, found -100']); // it has no own money
    // What was posted before explains nothing.
    expect(await compare({ ...account, read: () => Promise.resolve(100) })).toEqual({ breaks: 1, opened: 1 });
  });

  test('of an account that it does not report is never negative: what no credit explains is a break', async () => {
    const book = await openBook(1);
    const entry = { rail: 'sandbox', kind: 'settlement', reference: 's-1', amount: 6_100, at: new Date() } as const;
    await api.dependencies.journal.post(postEntry(bookOf(book), entry));
    const bank = { book: bookOf(book), rail: 'sandbox', readStatement: () => Promise.resolve({ lines: [] }) };
    const clearing = { account: 'clearing:sandbox', read: null, changeBy: signedAmount };
    const compare = () => compareBalance(api.dependencies, bank, clearing, Date.now());
    expect(await compare()).toEqual({ breaks: 1, opened: 1 });
    expect(await findings(book)).toEqual(['BANK_BALANCE_MISMATCH clearing:sandbox: >= 0, found -6100']);
    await (await received(book, 'found', 6_100, ago(HOUR))).post();
    expect(await compare()).toEqual({ breaks: 0, opened: 0 });
  });
});
