// Promises about credits, with a fake of the provider: what its customers pay in is reported, listed and confirmed.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AMOUNT_MAX, type Kobo } from '../../../src/money.ts';
import type {
  AccountRequest,
  CreditHint,
  InboundCreditReport,
  RailCallback,
  VirtualAccount,
} from '../../../src/rail/port.ts';
import { listCredits } from '../../../src/rail/promises/credits.ts';
import { type RailHarness, runSoFar } from '../../../src/rail/promises/harness.ts';
import { accountRequest, type Kind } from '../../../src/rail/promises/requests.ts';
import { amountOf, type ControlledHarness, KINDS, type TriedPromise, underControl, until } from './control.ts';

const SMALL: Kobo = 3_000;

interface Paid {
  request: AccountRequest;
  account: VirtualAccount;
}

const reported = ({ rail, organisationId, callbacks }: ControlledHarness): RailCallback[] =>
  (callbacks?.() ?? []).flatMap((sent) => rail.parseCallback({ organisationId, ...sent }));

type ReportedCredit = CreditHint & Pick<InboundCreditReport, 'sessionId'>;

const creditReported = (harness: ControlledHarness, sessionId: string): ReportedCredit | null =>
  reported(harness)
    .flatMap((one) => (one.kind === 'inbound_credit' ? [{ sessionId: one.sessionId, ...one.hint }] : []))
    .find((credit) => credit.sessionId === sessionId) ?? null;

export function assertOf(credit: CreditHint, { request, account }: Paid): void {
  const { accountReference, accountNumber } = credit;
  assert.ok(accountReference !== null || accountNumber !== null, 'a credit names its account');
  if (accountReference !== null) assert.equal(accountReference, request.reference);
  if (accountNumber !== null) assert.equal(accountNumber, account.accountNumber);
}

export interface PaidIn extends Paid {
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

const credited = (kind: Kind): TriedPromise =>
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

export const creditsUnderControl: readonly TriedPromise[] = [
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
