// Collects the facts of a chaos run from the database, the bank's book in it, Temporal and the API.
import type { Client } from '@temporalio/client';
import type { Sql } from '../../src/database/pool.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import type { Environment } from '../../src/money.ts';
import type { Finding } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { acceptedBody, type Callers } from './callers.ts';
import type {
  BankCredit,
  BankReference,
  Body,
  Facts,
  Operation,
  ReceivedEvent,
  StoredResource,
  Unfinished,
} from './facts.ts';
import { type BankBook, OUTGOING, violations } from './invariants.ts';
import { isAccepted } from './judge.ts';
import { wrongOwnMoney } from './ownMoney.ts';

interface Sources {
  sql: Sql;
  callers: Callers;
  organisationId: Uuid;
  environment: Environment;
  /** Null: there is no webhook endpoint, as on live, whose events cannot be sent to this machine. */
  received: readonly ReceivedEvent[] | null;
  /** Of another bank than the sandbox bank. */
  book?: BankBook;
  /** Of the whole run, collected once. */
  shared: Pick<Facts, 'unfinished'> & { findings: readonly Finding[]; shortfalls: readonly Finding[] };
}

/** What is not of one organisation. */
export async function collectShared(sources: UnfinishedSources): Promise<Sources['shared']> {
  const { findings } = await verifyBooks(sources.sql);
  const { shortfalls = [], others = [] } = Object.groupBy(findings, ({ kind }) =>
    kind === 'SHORTFALL' ? 'shortfalls' : 'others',
  );
  return { unfinished: await listUnfinished(sources), findings: others, shortfalls };
}

/** Requests under way while operations are replayed and read. */
const CONCURRENCY = 10;

export async function collectFacts(sources: Sources): Promise<Facts> {
  const { sql, callers, organisationId, environment, received, book, shared } = sources;
  const credits = await sql<CreditRow[]>`
    SELECT session_id, account_number, amount, sender_name, sender_account_number, sender_bank_code, received_at
    FROM sandbox_bank.credits WHERE organisation_id = ${organisationId}`;
  await readAgain(callers, new Map(credits.map((row) => [row.sessionId, row])));
  return {
    operations: callers.operations,
    resources: await readResources(sql, organisationId),
    events: received === null ? [] : await readEvents(sql, organisationId),
    received: received ?? [],
    references: await readReferences(sql, organisationId, book),
    credits: await readCredits(sql, organisationId, book),
    unfinished: shared.unfinished,
    findings: shared.findings,
    violations: [
      ...(await violations(sql, organisationId, book)),
      ...(await wrongOwnMoney(sql, { organisationId, environment }, book, shared.shortfalls)),
      ...(await falseBreaks(sql, organisationId)),
    ],
  };
}

interface CreditRow {
  sessionId: string;
  accountNumber: string;
  amount: number;
  senderName: string | null;
  senderAccountNumber: string | null;
  senderBankCode: string | null;
  receivedAt: Date;
}

const PATHS: Partial<Record<Operation['kind'], string>> = {
  wallet: '/wallets',
  hold: '/holds',
  kyc: '/wallets',
  payment: '/payments',
  pay: '/payments',
  transfer: '/transfers',
  withdrawal: '/withdrawals',
  refund: '/refunds',
  payout: '/payouts',
  review: '/review-cases',
};

/** Reads the resource of each accepted operation, and sends each operation with a key again. */
async function readAgain(callers: Callers, credits: ReadonlyMap<string, CreditRow>): Promise<void> {
  const queue = callers.operations.filter(({ answer }) => answer !== null);
  const readNext = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      if (one.key !== null) one.replay = await callers.replay(one);
      if (isAccepted(one)) one.now = await readNow(callers, one, credits);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
}

/** The resource as it is now. A credit has no route, so it is read from the bank's book. */
async function readNow(
  callers: Callers,
  { kind, answer }: Operation,
  credits: ReadonlyMap<string, CreditRow>,
): Promise<Body | null> {
  const accepted = acceptedBody(answer) ?? {};
  if (kind !== 'credit') return await callers.ask('GET', `${PATHS[kind]}/${accepted.id}`);
  const row = credits.get(accepted.sessionId ?? '');
  return row === undefined ? null : { ...row, currency: 'NGN', receivedAt: row.receivedAt.toISOString() };
}

async function readResources(sql: Sql, organisationId: Uuid): Promise<StoredResource[]> {
  return await sql<StoredResource[]>`
    SELECT 'wallet' AS kind, ledger.public_id(id, 'wlt') AS id, 'active' AS status FROM wallets
    WHERE organisation_id = ${organisationId} AND kind = 'end_user'
    UNION ALL SELECT 'payment', ledger.public_id(id, 'pay'), status FROM payments WHERE organisation_id = ${organisationId}
    UNION ALL SELECT 'transfer', ledger.public_id(id, 'trf'), 'completed' FROM transfers
      WHERE organisation_id = ${organisationId}
    UNION ALL SELECT 'withdrawal', ledger.public_id(id, 'wth'), status FROM withdrawals
      WHERE organisation_id = ${organisationId}
    UNION ALL SELECT 'refund', ledger.public_id(id, 'rfd'), status FROM refunds WHERE organisation_id = ${organisationId}
    UNION ALL SELECT 'payout', ledger.public_id(id, 'pyo'), status FROM payouts WHERE organisation_id = ${organisationId}`;
}

async function readEvents(sql: Sql, organisationId: Uuid): Promise<Facts['events']> {
  const rows = await sql<{ id: Uuid; type: string }[]>`
    SELECT id, type FROM events WHERE organisation_id = ${organisationId}`;
  return rows.map(({ id, type }) => ({ id: publicId('event', id), type }));
}

interface ReferenceRow {
  reference: string;
  ownStatus: string | null;
  ownAmount: number | null;
  bankStatus: string | null;
  bankAmount: number | null;
  sent: number[] | null;
  returned: number[] | null;
}

async function readReferences(sql: Sql, organisationId: Uuid, book: BankBook | undefined): Promise<BankReference[]> {
  if (book !== undefined) return await compareReferences(sql, organisationId, book);
  const rows = await sql.unsafe<ReferenceRow[]>(
    `SELECT coalesce(o.reference, t.reference) AS reference, o.own_status, o.amount AS own_amount,
            t.status AS bank_status, t.amount AS bank_amount, l.sent, l.returned
     FROM (${OUTGOING}) o
     FULL JOIN (SELECT * FROM sandbox_bank.transfers WHERE organisation_id = $1) t ON t.reference = o.reference
     LEFT JOIN LATERAL (
       SELECT array_agg(amount::float8) FILTER (WHERE kind = 'sent') AS sent,
              array_agg(amount::float8) FILTER (WHERE kind = 'returned') AS returned
       FROM sandbox_bank.statement_lines
       WHERE organisation_id = $1 AND reference = coalesce(o.reference, t.reference)
     ) l ON true`,
    [organisationId],
  );
  return rows.map(({ reference, ownStatus, ownAmount, bankStatus, bankAmount, sent, returned }) => ({
    reference,
    own: ownStatus === null ? null : { status: ownStatus, amount: ownAmount ?? 0 },
    bank: bankStatus === null ? null : { status: bankStatus, amount: bankAmount ?? 0 },
    sent: sent ?? [],
    returned: returned ?? [],
  }));
}

async function compareReferences(sql: Sql, organisationId: Uuid, book: BankBook): Promise<BankReference[]> {
  const outgoing = await sql.unsafe<{ reference: string; ownStatus: string; amount: number }[]>(
    `SELECT reference, own_status, amount FROM (${OUTGOING}) o`,
    [organisationId],
  );
  const own = new Map(outgoing.map((row) => [row.reference, { status: row.ownStatus, amount: row.amount }]));
  const bank = new Map(book.transfers.map(({ reference, ...transfer }) => [reference, transfer]));
  const amountsOf = (kind: 'sent' | 'returned', reference: string): number[] =>
    book.lines.filter((line) => line.kind === kind && line.reference === reference).map(({ amount }) => amount);
  return [...new Set([...own.keys(), ...bank.keys()])].map((reference) => ({
    reference,
    own: own.get(reference) ?? null,
    bank: bank.get(reference) ?? null,
    sent: amountsOf('sent', reference),
    returned: amountsOf('returned', reference),
  }));
}

async function readCredits(sql: Sql, organisationId: Uuid, book: BankBook | undefined): Promise<BankCredit[]> {
  if (book !== undefined) {
    const credits = book.credits.map(({ sessionId, amount, recalled }) => ({ sessionId, amount, recalled }));
    return await sql<BankCredit[]>`
      SELECT c."sessionId" AS session_id, c.amount, c.recalled,
             ARRAY(SELECT i.amount::float8 FROM inbound_credits i
                   WHERE i.organisation_id = ${organisationId} AND i.session_id = c."sessionId") AS own,
             (SELECT count(*)::int FROM ledger.transactions t
              WHERE t.organisation_id = ${organisationId} AND t.key = ${`credit/${book.rail}/`} || c."sessionId") AS posted,
             (SELECT count(*)::int FROM ledger.transactions t
              WHERE t.organisation_id = ${organisationId} AND t.key = ${`recall/${book.rail}/`} || c."sessionId") AS taken_back
      FROM jsonb_to_recordset(${JSON.stringify(credits)}::text::jsonb)
        AS c ("sessionId" text, amount float8, recalled boolean)`;
  }
  return await sql<BankCredit[]>`
    SELECT c.session_id, c.amount, c.recalled_at IS NOT NULL AS recalled,
           ARRAY(SELECT i.amount::float8 FROM inbound_credits i
                 WHERE i.organisation_id = c.organisation_id AND i.session_id = c.session_id) AS own,
           (SELECT count(*)::int FROM ledger.transactions t
            WHERE t.organisation_id = c.organisation_id AND t.key = 'credit/sandbox/' || c.session_id) AS posted,
           (SELECT count(*)::int FROM ledger.transactions t
            WHERE t.organisation_id = c.organisation_id AND t.key = 'recall/sandbox/' || c.session_id) AS taken_back
    FROM sandbox_bank.credits c WHERE c.organisation_id = ${organisationId}`;
}

/** Reconciliation ran during the faults: whatever it reports now is no break, as the books agree. */
async function falseBreaks(sql: Sql, organisationId: Uuid): Promise<string[]> {
  const rows = await sql`
    SELECT kind, line, reference, ledger_amount, statement_amount FROM reconciliation_breaks
    WHERE organisation_id = ${organisationId} AND cleared_at IS NULL AND kind <> 'reversal'`;
  return rows.map((row) => `reconciliation reports a break: ${JSON.stringify(row)}`);
}

interface UnfinishedSources {
  sql: Sql;
  temporal: Client;
  organisationIds: readonly Uuid[];
}

/** What must end by itself and has not. */
export async function listUnfinished({ sql, temporal, organisationIds }: UnfinishedSources): Promise<Unfinished[]> {
  const rows = await sql<Unfinished[]>`
    SELECT * FROM (
      SELECT organisation_id, 'the withdrawal' AS what, ledger.public_id(id, 'wth') AS id FROM withdrawals
      WHERE status = 'processing'
      UNION ALL SELECT organisation_id, 'the refund', ledger.public_id(id, 'rfd') FROM refunds WHERE status = 'processing'
      UNION ALL SELECT organisation_id, 'the payout', ledger.public_id(id, 'pyo') FROM payouts WHERE status = 'processing'
      UNION ALL SELECT organisation_id, 'the payout item', ledger.public_id(id, 'poi') FROM payout_items
      WHERE status IN ('pending', 'processing')
      UNION ALL SELECT organisation_id, 'the hold that is due,', ledger.public_id(id, 'hld') FROM holds
      WHERE status = 'held' AND release_at < now()
      UNION ALL SELECT organisation_id, 'the payment, past its expiry,', ledger.public_id(id, 'pay') FROM payments
      WHERE status IN ('pending', 'partial') AND expires_at < now()
      UNION ALL SELECT organisation_id, 'the inbound credit', ledger.public_id(id, 'inc') FROM inbound_credits
      WHERE status = 'received'
      UNION ALL SELECT organisation_id, 'the return of review case', ledger.public_id(id, 'rev') FROM review_cases
      WHERE status = 'returning'
      UNION ALL SELECT organisation_id, 'the delivery of event', ledger.public_id(event_id, 'evt') FROM webhook_deliveries
      WHERE status = 'pending'
      UNION ALL SELECT organisation_id, 'the outbox message', id::text FROM outbox WHERE topic <> 'scheduled'
      UNION ALL SELECT organisation_id, 'the callback of the bank', id::text FROM sandbox_bank.callbacks
      UNION ALL SELECT organisation_id, 'the break ' || kind || ' of ' || line, reference FROM reconciliation_breaks
      WHERE cleared_at IS NULL
    ) unfinished (organisation_id, what, id) WHERE organisation_id = ANY (${organisationIds as Uuid[]})`;
  const flows = await listRunningFlows(temporal);
  // The flow of an unclaimed case runs while the claim that one operator proposed waits for a second one.
  const waiting = await sql<{ id: string }[]>`
    SELECT ledger.public_id(id, 'pay') AS id FROM payments
    WHERE organisation_id = ANY (${organisationIds as Uuid[]}) AND status IN ('pending', 'partial')
    UNION ALL SELECT ledger.public_id(id, 'hld') FROM holds
    WHERE organisation_id = ANY (${organisationIds as Uuid[]}) AND status = 'held'
    UNION ALL SELECT ledger.public_id(id, 'rev') FROM review_cases
    WHERE organisation_id = ANY (${organisationIds as Uuid[]}) AND status IN ('open', 'returning', 'unclaimed')`;
  const mayRun = new Set([...waiting, ...rows].map(({ id }) => id));
  const left: Unfinished[] = rows.map(({ what, id }) => ({ what, id }));
  for (const id of flows.filter((flow) => !mayRun.has(flow))) {
    // The list of the server may be minutes behind.
    const { status } = await temporal.workflow.getHandle(id).describe();
    if (status.name === 'RUNNING') left.push({ what: 'the flow', id });
  }
  return left;
}

/** The ids of the flows of resources; those of Schedules have other names. */
async function listRunningFlows(temporal: Client): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query: "ExecutionStatus = 'Running'" })) {
    if (workflowId.startsWith('svc_')) ids.push(workflowId);
  }
  return ids;
}
