// Every kind of money in suspense with every choice that an operator has: each posts to the kobo, is audited, and is told to
// the integrator. The cases come about as in life, through the API and the bank.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publicId, type Uuid } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { REVIEW_REASONS } from '../../src/resources/reviewCases/queries.ts';
import { choicesOf } from '../../src/workflows/reviewCase/decide.ts';
import type { ReviewAction } from '../../src/workflows/reviewCase/messages.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';

/** All play at the same time. */
const LIMIT_MS = 200_000;
const SENDER = '0123456789';
/** A tier1 wallet holds no more than this. */
const BALANCE_MAX = 30_000_000;

/** How money of each kind gets into suspense; answers how much. Sent by `SENDER`, all of it. */
const KINDS = {
  unknown_account: async (stage) => {
    await stage.credit('1234567890', 5_000);
    return 5_000;
  },
  late_credit: async (stage) => {
    const { account } = await payment(stage, 'expired', []);
    await stage.credit(account, 202_000);
    return 202_000;
  },
  partial_expired: async (stage) => {
    await payment(stage, 'expired', [40_000]);
    return 40_000;
  },
  credit_after_settlement: async (stage) => {
    const { account } = await payment(stage, 'settled', [202_000]);
    await stage.credit(account, 7_000);
    return 7_000;
  },
  surplus_over_limit: async (stage) => {
    // Room for the base amount, and for nothing more.
    await payment(stage, 'settled', [202_000 + 9_000], BALANCE_MAX - 200_000);
    return 9_000;
  },
  over_limit: async (stage) => {
    await deposit(stage, 6_000, BALANCE_MAX);
    return 6_000;
  },
  wallet_frozen: async (stage) => {
    await deposit(stage, 6_000, 0, 'frozen');
    return 6_000;
  },
  wallet_closed: async (stage) => {
    await deposit(stage, 6_000, 0, 'closed');
    return 6_000;
  },
  wallet_unverified: async (stage) => {
    await deposit(stage, 6_000, 0, 'unverified');
    return 6_000;
  },
} satisfies Record<string, (stage: ScenarioContext) => Promise<number>>;

type Kind = keyof typeof KINDS;

/** A payment that ends like this after these credits. Its account number. */
async function payment(
  stage: ScenarioContext,
  status: string,
  credits: number[],
  balance = 0,
): Promise<{ account: string }> {
  if (status === 'expired') await stage.shortenWindows(credits.length > 0 ? 5_000 : 0);
  const { id, virtualAccount } = await stage.payment(await ownerHolding(stage, balance), 'bank_transfer');
  for (const amount of credits) await stage.credit(virtualAccount.accountNumber, amount);
  await stage.untilStatus(`/payments/${id}`, status);
  return { account: virtualAccount.accountNumber };
}

/** A wallet with this balance; funding it with nothing is no posting. */
const ownerHolding = (stage: ScenarioContext, balance: number) =>
  balance === 0 ? stage.wallet('owner') : stage.wallet('owner', balance);

/** Money to the deposit account of a wallet that cannot take it. */
async function deposit(stage: ScenarioContext, amount: number, balance: number, becomes?: string): Promise<void> {
  const wallet = await ownerHolding(stage, balance);
  const { data } = await stage.organisation.test.get(`/wallets/${wallet}/deposit-account`);
  const change = becomes === 'unverified' ? flows.sql`verified = false` : flows.sql`status = ${becomes ?? 'active'}`;
  await flows.sql`UPDATE ledger.accounts SET ${change} WHERE code = ${`wallet:${wallet}`}`;
  await stage.credit(String(data.accountNumber), amount);
}

interface Told {
  reason: string;
  answer: string;
  status: string;
  /** Where the case's money went, by account. */
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
const told = new Map<string, Promise<Told>>();

async function tell(stage: ScenarioContext, kind: Kind, action: ReviewAction): Promise<Told> {
  const { sql } = flows;
  const { organisationId } = stage;
  const amount = await KINDS[kind](stage);
  const walletId = await stage.wallet('chosen');
  const id = await stage.decideReview(action === 'credit' ? { action, walletId } : { action });
  await stage.untilEvent('review_case.resolved');
  await flows.temporal.workflow.getHandle(id).result();
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
    // Without the payment that a suspense account is of.
    const [from, to] = [debit, credit].map((code) => code.replace(/^(suspense:payment):.*/, '$1')) as [string, string];
    moved[from] = (moved[from] ?? 0) - kobo;
    moved[to] = (moved[to] ?? 0) + kobo;
  }
  const events = await sql<{ type: string; data: { status: string; walletId: string | null } }[]>`
    SELECT type, data FROM events WHERE organisation_id = ${organisationId} AND resource = ${id} ORDER BY created_at, id`;
  const audited = await sql<{ action: string }[]>`SELECT action FROM audit_log WHERE subject = ${id}`;
  const bank = await sql<Told['bank']>`
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
  const openStage = await openScenarios(flows);
  for (const { kind, action } of ALL) {
    const stage = await openStage();
    told.set(`${kind} ${action}`, tell(stage, kind, action));
  }
  await Promise.allSettled(told.values());
}, LIMIT_MS);

afterAll(async () => {
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const STATUS_AFTER = { credit: 'credited', return_to_sender: 'returned_to_sender', move_to_unclaimed: 'unclaimed' };

test.each(ALL)('$kind, $action', async ({ kind, action }) => {
  const one = (await told.get(`${kind} ${action}`)) as Told;
  const status = STATUS_AFTER[action as keyof typeof STATUS_AFTER];
  const to = {
    credit: `wallet:${one.walletId}`,
    return_to_sender: 'clearing:sandbox',
    move_to_unclaimed: 'unclaimed:credits',
  };
  const from = kind === 'partial_expired' ? 'suspense:payment' : 'suspense:unmatched';
  expect(one).toMatchObject({ reason: kind, answer: 'decided', status, audited: [`review:${action}`] });
  expect(Object.entries(one.moved).toSorted(([, a], [, b]) => a - b)).toEqual([
    [from, -one.amount],
    [to[action as keyof typeof to], one.amount],
  ]);
  expect(one.events.map(({ type, status: said }) => `${type} ${said}`)).toEqual([
    'review_case.opened open',
    `review_case.resolved ${status}`,
  ]);
  expect(one.events.at(-1)?.walletId === one.walletId).toBe(action === 'credit');
  expect(one.bank).toEqual(
    action === 'return_to_sender' ? [{ accountNumber: SENDER, amount: one.amount, status: 'completed' }] : [],
  );
});

test('no kind of case is left out', () => {
  // Those that hold no money have tests of their own: reconciliation.test.ts, unconfirmedCredits.test.ts.
  const kinds = new Set(['reconciliation_break', 'credit_unconfirmed', ...Object.keys(KINDS)]);
  expect(REVIEW_REASONS.filter((reason) => !kinds.has(reason))).toEqual([]);
});
