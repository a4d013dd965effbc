// Promises about credits: a person pays into account numbers, and the rail lists and confirms what arrived.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AMOUNT_MAX, type Kobo } from '../../money.ts';
import { creditsOf } from '../pages.ts';
import type {
  AccountRequest,
  CreditHint,
  InboundCreditRecord,
  InboundCreditReport,
  Period,
  RailCallback,
  VirtualAccount,
} from '../port.ts';
import { until } from './control.ts';
import { poll, type RailHarness, runSoFar } from './harness.ts';
import {
  type ControlledHarness,
  type Finding,
  fail,
  fault,
  pass,
  type RailPromise,
  underControl,
  warn,
} from './promise.ts';
import { accountRequest, amountOf, KINDS, type Kind, openedAs } from './requests.ts';

const SMALL: Kobo = 3_000;
const APART: Kobo = 100;
const POLL_EVERY_MS = 5_000;
/** After the exact amount arrived, the others, which were paid before it, have this long. */
const OTHERS_DUE_AFTER_MS = 30_000;

export async function listCredits(
  { rail, organisationId, limit }: RailHarness,
  period: Period,
): Promise<InboundCreditRecord[]> {
  const credits: InboundCreditRecord[] = [];
  for await (const page of creditsOf(rail, { organisationId, ...period }, limit)) credits.push(...page);
  return credits;
}

/** An account number, and what is to be paid into it. */
interface Asked {
  request: AccountRequest;
  account: VirtualAccount;
  paid: Kobo;
}

/** A credit names its account by our reference, or by its number. */
const isOf =
  ({ request, account }: Pick<Asked, 'request' | 'account'>) =>
  ({ accountReference, accountNumber }: InboundCreditReport): boolean =>
    accountReference === request.reference || (accountReference === null && accountNumber === account.accountNumber);

/** Opens a number for an amount, and asks for the payment of a perhaps different one. */
async function ask(harness: RailHarness, amount: Kobo, paid: Kobo): Promise<Asked> {
  const request = accountRequest(harness, 'one_off', amount);
  const account = await harness.rail.openVirtualAccount(request, harness.limit());
  harness.payer?.ask(paid, account);
  return { request, account, paid };
}

async function simulated(harness: RailHarness): Promise<Finding> {
  const { rail, payer, pause, limit, facts } = harness;
  const { minAmount, amount: accepts, closes } = rail.capabilities.oneOff;
  const amount = Math.max(SMALL, minAmount + APART);
  const under = await ask(harness, amount, amount - APART);
  const over = await ask(harness, amount, amount + APART);
  const exact = await ask(harness, amount, amount);
  const seen = async (): Promise<void> => {
    const listed = await listCredits(harness, runSoFar(harness));
    facts.credits = [under, over, exact].flatMap((asked) =>
      listed.filter(isOf(asked)).map((credit) => ({ ...credit, asked: asked.paid })),
    );
  };
  const arrived = (asked: Asked): boolean => facts.credits.some(isOf(asked));
  await poll(harness, POLL_EVERY_MS, payer?.waitMs ?? 0, async () => {
    await seen();
    return arrived(exact);
  });
  if (arrived(exact) && !(arrived(under) && arrived(over))) {
    await pause(OTHERS_DUE_AFTER_MS);
    await seen();
  }
  if (closes)
    for (const asked of [under, over]) {
      if (!arrived(asked)) await rail.closeVirtualAccount(openedAs(asked.request, asked.account), limit());
    }
  if (!arrived(exact))
    return fail('the payment of the exact amount was not listed', 'Ask the provider for it; give --credit more time.');
  const others = [under, over].filter(arrived).length;
  const expected = accepts === 'any' ? 2 : 0;
  if (others === expected)
    return pass(expected === 0 ? 'the exact amount arrived, and no other' : 'each amount arrived');
  return fault(
    `${others} of two other amounts were accepted, where the adapter declares "${accepts}"`,
    'payments would be shown as partial, or money would arrive that no payment expects',
  );
}

async function confirm({ rail, organisationId, facts, limit }: RailHarness): Promise<Finding> {
  const otherwise = 'no credit would be posted';
  let isMasked = false;
  for (const credit of facts.credits) {
    const { sessionId, accountReference, asked } = credit;
    const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference }, limit());
    if (found === null || typeof found === 'string')
      return fault(`the rail listed a credit, and now calls it ${found ?? 'unknown'}`, otherwise);
    if (found.amount !== asked || credit.amount !== asked)
      return fault('the rail reports another amount than was paid', otherwise);
    if (found.accountReference !== accountReference && found.accountNumber !== credit.accountNumber)
      return fault('the rail reports another account than was paid to', otherwise);
    isMasked ||= found.senderAccountNumber === null;
  }
  return isMasked
    ? warn(
        "the payer's account number is masked",
        'A refund then needs a bankAccount; the callback may have the number.',
      )
    : pass('amount, reference and payer are reported');
}

const reported = ({ rail, organisationId, callbacks }: ControlledHarness): RailCallback[] =>
  (callbacks?.() ?? []).flatMap((sent) => rail.parseCallback({ organisationId, ...sent }));

type ReportedCredit = CreditHint & Pick<InboundCreditReport, 'sessionId'>;

const creditReported = (harness: ControlledHarness, sessionId: string): ReportedCredit | null =>
  reported(harness)
    .flatMap((one) => (one.kind === 'inbound_credit' ? [{ sessionId: one.sessionId, ...one.hint }] : []))
    .find((credit) => credit.sessionId === sessionId) ?? null;

export function assertOf(credit: CreditHint, { request, account }: Pick<Asked, 'request' | 'account'>): void {
  const { accountReference, accountNumber } = credit;
  assert.ok(accountReference !== null || accountNumber !== null, 'a credit names its account');
  if (accountReference !== null) assert.equal(accountReference, request.reference);
  if (accountNumber !== null) assert.equal(accountNumber, account.accountNumber);
}

export interface PaidIn extends Pick<Asked, 'request' | 'account'> {
  credit: ReportedCredit;
}

export async function payIn(harness: ControlledHarness, kind: Kind, amount?: Kobo): Promise<PaidIn> {
  const request = accountRequest(harness, kind, amount);
  const account = await harness.rail.openVirtualAccount(request);
  const sessionId = await harness.control.payIn(account.accountNumber, amountOf(request));
  assert.ok(sessionId !== null, 'the account number accepts the amount that it was opened for');
  const credit = await until(harness, 'the callback of a credit', () => creditReported(harness, sessionId));
  assert.equal(credit.amount, amountOf(request));
  assertOf(credit, { request, account });
  return { request, account, credit };
}

async function assertConfirmed({ rail, organisationId, now }: RailHarness, { credit, ...paid }: PaidIn): Promise<void> {
  const { sessionId, amount } = credit;
  const { reference: accountReference } = paid.request;
  const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference });
  assert.ok(found !== null && typeof found === 'object', `the credit must be confirmed, but is ${inspect(found)}`);
  assert.deepEqual([found.sessionId, found.amount, found.recalledAt], [sessionId, amount, null]);
  assertOf(found, paid);
  assert.ok(Math.abs(found.receivedAt.getTime() - now().getTime()) < 60_000, 'the time is off');
}

const credited = (kind: Kind): RailPromise =>
  underControl(
    `credit.${kind}`,
    'a credit is reported by a callback, the same however often it comes, and confirmed and listed once to the kobo',
    async (harness) => {
      const paid = await payIn(harness, kind);
      const { sessionId, amount } = paid.credit;
      for (let time = 0; time < 26; time += 1) assert.equal(creditReported(harness, sessionId)?.amount, amount);
      await assertConfirmed(harness, paid);
      const now = harness.now().getTime();
      const listed = async (from: number, to: number): Promise<InboundCreditReport[]> => {
        const credits = await listCredits(harness, { from: new Date(from), to: new Date(to) });
        return credits.filter((one) => one.sessionId === sessionId);
      };
      const [once, ...more] = await listed(now - 3_600_000, now + 60_000);
      assert.deepEqual([once?.amount, more], [amount, []]);
      if (once !== undefined) assertOf(once, paid);
      assert.deepEqual(await listed(now + 60_000, now + 120_000), []);
    },
  );

export const creditPromises: readonly RailPromise[] = [
  { id: 'credit.simulated', needs: ['payer'], after: ['account.one_off'], run: simulated },
  { id: 'credit.confirm', needs: ['payer'], after: ['credit.simulated'], run: confirm },
  ...KINDS.map(credited),
  underControl('credit.amounts', 'amounts from the least to the largest of the API arrive exactly', async (harness) => {
    const { minAmount } = harness.rail.capabilities.oneOff;
    const odd = [minAmount, minAmount + 1, minAmount + 99, 100_010, 99_999_999_999, AMOUNT_MAX - 1, AMOUNT_MAX];
    for (const amount of odd) await assertConfirmed(harness, await payIn(harness, 'one_off', amount));
  }),
  underControl(
    'credit.direction',
    'money that leaves by an account number is no credit, in the list neither',
    async (harness) => {
      const { rail, organisationId, control } = harness;
      if (control.payOut === undefined) return;
      const { account } = await payIn(harness, 'permanent');
      const sessionId = await control.payOut(account.accountNumber, SMALL);
      const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference: null });
      assert.ok(found === null || typeof found === 'string', `money that left must be no credit: ${inspect(found)}`);
      const listed = await listCredits(harness, runSoFar(harness));
      assert.ok(!listed.some((one) => one.sessionId === sessionId), 'money that left is listed as a credit');
    },
  ),
  underControl('credit.unknown', 'a credit that never arrived is not confirmed', async ({ rail, organisationId }) => {
    const sessionId = 'conformance-0000000000';
    assert.equal(await rail.findInboundCredit({ organisationId, sessionId, accountReference: null }), null);
  }),
];
