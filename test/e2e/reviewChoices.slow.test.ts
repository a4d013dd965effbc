// Every kind of money in suspense with every action: each posts the exact amount, is audited, and emits an event. The
// cases are created as in production, through the API and the bank.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publicId, type Uuid } from '../../src/ids.ts';
import { REVIEW_REASONS } from '../../src/resources/reviewCases/queries.ts';
import { choicesOf } from '../../src/workflows/reviewCase/decide.ts';
import type { ReviewAction } from '../../src/workflows/reviewCase/messages.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { violationsOf } from '../support/violations.ts';

/** All cases run concurrently. */
const LIMIT_MS = 200_000;
const SENDER = '0123456789';
/** The balance limit of a tier1 wallet. */
const BALANCE_MAX = 30_000_000;

/** Creates a case of each kind, with all money sent by `SENDER`; returns the amount. */
const KINDS = {
  unknown_account: async (context) => {
    await context.credit('1234567890', 5_000);
    return 5_000;
  },
  late_credit: async (context) => {
    const { account } = await payment(context, 'expired', []);
    await context.credit(account, 202_000);
    return 202_000;
  },
  partial_expired: async (context) => {
    await payment(context, 'expired', [40_000]);
    return 40_000;
  },
  credit_after_settlement: async (context) => {
    const { account } = await payment(context, 'settled', [202_000]);
    await context.credit(account, 7_000);
    return 7_000;
  },
  surplus_over_limit: async (context) => {
    // The wallet can accept the base amount and nothing more.
    await payment(context, 'settled', [202_000 + 9_000], BALANCE_MAX - 200_000);
    return 9_000;
  },
  over_limit: async (context) => {
    await deposit(context, 6_000, BALANCE_MAX);
    return 6_000;
  },
  wallet_frozen: async (context) => {
    await deposit(context, 6_000, 0, 'frozen');
    return 6_000;
  },
  wallet_closed: async (context) => {
    await deposit(context, 6_000, 0, 'closed');
    return 6_000;
  },
  wallet_unverified: async (context) => {
    await deposit(context, 6_000, 0, 'unverified');
    return 6_000;
  },
} satisfies Record<string, (context: ScenarioContext) => Promise<number>>;

type Kind = keyof typeof KINDS;

/** Creates a payment that ends with this status after these credits. Returns its account number. */
async function payment(
  context: ScenarioContext,
  status: string,
  credits: number[],
  balance = 0,
): Promise<{ account: string }> {
  if (status === 'expired') context.shortenWindows(credits.length > 0 ? 5_000 : 0);
  const { id, virtualAccount } = await context.payment(await ownerHolding(context, balance), 'bank_transfer');
  for (const amount of credits) await context.credit(virtualAccount.accountNumber, amount);
  await context.untilStatus(`/payments/${id}`, status);
  return { account: virtualAccount.accountNumber };
}

/** A wallet with this balance; funding with zero is not a valid posting. */
const ownerHolding = (context: ScenarioContext, balance: number) =>
  balance === 0 ? context.wallet('owner') : context.wallet('owner', balance);

/** Sends money to the deposit account of a wallet that cannot accept it. */
async function deposit(context: ScenarioContext, amount: number, balance: number, state?: string): Promise<void> {
  const wallet = await ownerHolding(context, balance);
  const account = await context.depositAccount(wallet);
  const change = state === 'unverified' ? flows.sql`verified = false` : flows.sql`status = ${state ?? 'active'}`;
  await flows.sql`UPDATE ledger.accounts SET ${change} WHERE code = ${`wallet:${wallet}`}`;
  await context.credit(account, amount);
}

interface CaseResult {
  reason: string;
  answer: string;
  status: string;
  /** The net change of each account. */
  moved: Record<string, number>;
  audited: string[];
  events: { type: string; status: string; walletId: string | null }[];
  bank: { accountNumber: string; amount: number; status: string }[];
  amount: number;
  walletId: string;
}

const ACTIONS = choicesOf('late_credit');
const ALL = (Object.keys(KINDS) as Kind[]).flatMap((kind) => ACTIONS.map((action) => ({ kind, action })));

let flows: TestFlows;
const results = new Map<string, Promise<CaseResult>>();

async function runCase(context: ScenarioContext, kind: Kind, action: ReviewAction): Promise<CaseResult> {
  const { sql } = flows;
  const { organisationId } = context;
  const amount = await KINDS[kind](context);
  const walletId = await context.wallet('chosen');
  const id = await context.decideReview(action === 'credit' ? { action, walletId } : { action });
  await context.untilEvent('review_case.resolved');
  await flows.flow(id).result();
  const [row] = await sql<{ reason: string; status: string; id: Uuid }[]>`
    SELECT reason, status, id FROM review_cases WHERE organisation_id = ${organisationId}`;
  const postings = await sql<{ debit: string; credit: string; amount: number }[]>`
    SELECT d.code AS debit, c.code AS credit, p.amount FROM ledger.postings p
    JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
    JOIN ledger.accounts d ON d.organisation_id = p.organisation_id AND d.id = p.debit_account_id
    JOIN ledger.accounts c ON c.organisation_id = p.organisation_id AND c.id = p.credit_account_id
    WHERE p.organisation_id = ${organisationId} AND t.resource = ${id}`;
  const moved: Record<string, number> = {};
  for (const { debit, credit, amount: kobo } of postings) {
    // Suspense accounts of payments are compared without their payment id.
    const [from, to] = [debit, credit].map((code) => code.replace(/^(suspense:payment):.*/, '$1')) as [string, string];
    moved[from] = (moved[from] ?? 0) - kobo;
    moved[to] = (moved[to] ?? 0) + kobo;
  }
  const events = await sql<{ type: string; data: { status: string; walletId: string | null } }[]>`
    SELECT type, data FROM events WHERE organisation_id = ${organisationId} AND resource = ${id} ORDER BY created_at, id`;
  const audited = await sql<{ action: string }[]>`SELECT action FROM audit_log WHERE subject = ${id} ORDER BY id`;
  const bank = await sql<CaseResult['bank']>`
    SELECT account_number, amount, status FROM sandbox_bank.transfers WHERE organisation_id = ${organisationId}`;
  return {
    reason: row?.reason ?? '',
    answer: id === publicId('reviewCase', row?.id ?? '') ? 'decided' : 'another case',
    status: row?.status ?? '',
    moved: Object.fromEntries(Object.entries(moved).filter(([, kobo]) => kobo !== 0)),
    audited: audited.map((one) => one.action),
    events: events.map(({ type, data }) => ({ type, status: data.status, walletId: data.walletId })),
    bank: [...bank],
    amount,
    walletId,
  };
}

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
  const openContext = await openScenarios(flows);
  for (const { kind, action } of ALL) {
    const context = await openContext();
    results.set(`${kind} ${action}`, runCase(context, kind, action));
  }
  await Promise.allSettled(results.values());
}, LIMIT_MS);

afterAll(async () => {
  const findings = await violationsOf(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const STATUS_AFTER = { credit: 'credited', return_to_sender: 'returned_to_sender', move_to_unclaimed: 'unclaimed' };

test.each(ALL)(
  '$action of a $kind case posts the exact amount, is audited and emits an event',
  async ({ kind, action }) => {
    const one = (await results.get(`${kind} ${action}`)) as CaseResult;
    const status = STATUS_AFTER[action as keyof typeof STATUS_AFTER];
    const to = {
      credit: `wallet:${one.walletId}`,
      return_to_sender: 'clearing:sandbox',
      move_to_unclaimed: 'unclaimed:credits',
    };
    const from = kind === 'partial_expired' ? 'suspense:payment' : 'suspense:unmatched';
    // The chosen wallet is not the one that the money was sent to.
    const audited = action === 'credit' ? ['review:credit:proposed', 'review:credit'] : [`review:${action}`];
    expect(one).toMatchObject({ reason: kind, answer: 'decided', status, audited });
    expect(Object.entries(one.moved).toSorted(([, a], [, b]) => a - b)).toEqual([
      [from, -one.amount],
      [to[action as keyof typeof to], one.amount],
    ]);
    expect(one.events.map(({ type, status: actual }) => `${type} ${actual}`)).toEqual([
      'review_case.opened open',
      `review_case.resolved ${status}`,
    ]);
    expect(one.events.at(-1)?.walletId === one.walletId).toBe(action === 'credit');
    expect(one.bank).toEqual(
      action === 'return_to_sender' ? [{ accountNumber: SENDER, amount: one.amount, status: 'completed' }] : [],
    );
  },
);

test('every kind of case is covered', () => {
  // Kinds that hold no money, and splits, have other choices, and tests of their own.
  const withMoney = REVIEW_REASONS.filter((reason) => choicesOf(reason).includes('return_to_sender'));
  expect(withMoney.toSorted()).toEqual(Object.keys(KINDS).toSorted());
});
