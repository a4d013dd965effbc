// Promises about credits: a person pays into account numbers, and the rail lists and confirms what arrived.
import type { Kobo } from '../../money.ts';
import { creditsOf } from '../pages.ts';
import type { AccountRequest, InboundCreditRecord, InboundCreditReport, Period, VirtualAccount } from '../port.ts';
import { poll, type RailHarness, runSoFar } from './harness.ts';
import { type Finding, fail, fault, pass, warn } from './promise.ts';
import { accountRequest, openedAs } from './requests.ts';

const SMALL: Kobo = 3_000;
const APART: Kobo = 100;
const POLL_EVERY_MS = 5_000;
/** After the exact amount arrived, the others, which were paid before it, have this long. */
const OTHERS_DUE_AFTER_MS = 30_000;

export const listCredits = async (
  { rail, organisationId, limit }: RailHarness,
  period: Period,
): Promise<InboundCreditRecord[]> =>
  (await Array.fromAsync(creditsOf(rail, { organisationId, ...period }, limit))).flat();

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

export async function simulated(harness: RailHarness): Promise<Finding> {
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

export async function confirm({ rail, organisationId, facts, limit }: RailHarness): Promise<Finding> {
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
