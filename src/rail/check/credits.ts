// Checks of credits and callbacks: somebody pays into account numbers, and the rail must tell of it.
import type { Kobo } from '../../money.ts';
import { nairaText } from '../../money.ts';
import type { InboundCreditReport } from '../port.ts';
import { oneOffRequest, openedAs } from './accounts.ts';
import type { CheckBench } from './bench.ts';
import { type Finding, fail, notOffered, pass, type RailCheck, skip, warn } from './check.ts';

const AMOUNT: Kobo = 3_000;
const APART: Kobo = 100;
const POLL_EVERY_MS = 5_000;
/** After the exact amount arrived, the others, which were paid before it, have this long. */
const OTHERS_DUE_AFTER_MS = 30_000;
const CALLBACK_DUE_AFTER_MS = 60_000;

/** The credits since the run began, by our reference. */
async function listCredits({
  rail,
  organisationId,
  startedAt,
  now,
  limit,
}: CheckBench): Promise<InboundCreditReport[]> {
  const period = { from: new Date(startedAt.getTime() - 60_000), to: new Date(now().getTime() + 60_000) };
  const credits: InboundCreditReport[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await rail.listInboundCredits({ organisationId, ...period, cursor }, limit());
    credits.push(...page.credits);
    cursor = page.nextCursor;
    if (cursor === null) return credits;
  }
}

/** Opens a number for an amount, and has somebody pay a perhaps different one. */
async function ask(bench: CheckBench, asked: Kobo, paid: Kobo) {
  const { rail, limit, tell } = bench;
  const request = oneOffRequest(bench, asked);
  const account = await rail.openVirtualAccount(request, limit());
  tell(`Pay ${nairaText(paid)} to ${account.accountNumber}, ${account.bankName}.`);
  return { request, account, paid };
}

async function simulated(bench: CheckBench): Promise<Finding> {
  const { rail, creditWaitMs, now, pause, limit, facts } = bench;
  const { oneOff, credits } = rail.capabilities;
  if (oneOff === null || !credits.listable)
    return notOffered('the rail has no numbers for payments, or lists no credits');
  if (creditWaitMs === null)
    return skip('nobody pays', 'Run it with --credit SECONDS, and pay what it asks for, by app or by the simulator.');
  const amount = Math.max(AMOUNT, oneOff.minAmount + APART);
  const under = await ask(bench, amount, amount - APART);
  const over = await ask(bench, amount, amount + APART);
  const exact = await ask(bench, amount, amount);
  const requests = [under, over, exact];
  const endsAt = now().getTime() + creditWaitMs;
  const seen = async (): Promise<void> => {
    const listed = await listCredits(bench);
    facts.credits = requests.flatMap(({ request, account, paid }) =>
      listed
        .filter(
          ({ accountReference, accountNumber }) =>
            accountReference === request.reference ||
            (accountReference === null && accountNumber === account.accountNumber),
        )
        .map((credit) => ({ ...credit, asked: paid })),
    );
  };
  const arrived = ({ request, account }: typeof exact): boolean =>
    facts.credits.some(
      (one) => one.accountReference === request.reference || one.accountNumber === account.accountNumber,
    );
  for (await seen(); !arrived(exact) && now().getTime() < endsAt; await seen()) await pause(POLL_EVERY_MS);
  if (arrived(exact) && !(arrived(under) && arrived(over))) {
    await pause(OTHERS_DUE_AFTER_MS);
    await seen();
  }
  if (oneOff.closes)
    for (const { request, account } of [under, over]) {
      if (!arrived({ request, account, paid: 0 })) await rail.closeVirtualAccount(openedAs(request, account), limit());
    }
  if (!arrived(exact))
    return fail('the payment of the exact amount was not listed', 'Ask the provider for it; give --credit more time.');
  const others = [under, over].filter(arrived).length;
  const expected = oneOff.amount === 'any' ? 2 : 0;
  if (others === expected)
    return pass(expected === 0 ? 'the exact amount arrived, and no other' : 'each amount arrived');
  return fail(
    `${others} of two other amounts were accepted, where the adapter declares "${oneOff.amount}"`,
    'Report this with the stored exchanges: payments would be shown as partial, or money would arrive that no payment expects.',
  );
}

async function confirm({ rail, organisationId, facts, limit }: CheckBench): Promise<Finding> {
  const report = 'Report this with the stored exchanges: no credit would be posted.';
  let isMasked = false;
  for (const credit of facts.credits) {
    const { sessionId, accountReference, asked } = credit;
    const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference }, limit());
    if (found === null || typeof found === 'string')
      return fail(`the rail listed a credit, and now calls it ${found ?? 'unknown'}`, report);
    if (found.amount !== asked || credit.amount !== asked)
      return fail('the rail tells another amount than was paid', report);
    if (found.accountReference !== accountReference && found.accountNumber !== credit.accountNumber)
      return fail('the rail tells another account than was paid to', report);
    isMasked ||= found.senderAccountNumber === null;
  }
  return isMasked
    ? warn(
        "the payer's account number is masked",
        'A refund then needs a bankAccount; the callback may have the number.',
      )
    : pass('amount, reference and payer are reported');
}

async function signature(bench: CheckBench): Promise<Finding> {
  const { rail, organisationId, callbacks, facts, isLive, now, pause } = bench;
  if (callbacks === null)
    return skip('nothing listened', 'Run it with --listen PORT, with the callback address at the provider set to it.');
  const references = new Set([
    ...facts.credits.map(({ accountReference }) => accountReference),
    ...facts.paid.map(({ reference }) => reference),
  ]);
  if (references.size === 0)
    return skip('there was nothing to tell of', 'Let it move money too: --to and --bank, or --credit.');
  const endsAt = now().getTime() + CALLBACK_DUE_AFTER_MS;
  for (;;) {
    const read = callbacks().map((one) => {
      try {
        return rail.parseCallback({ organisationId, ...one });
      } catch {
        return null; // RailCallbackInvalidError
      }
    });
    const ours = read.some((events) =>
      events?.some(
        (event) =>
          (event.kind === 'transfer_update' && references.has(event.reference)) ||
          (event.kind === 'inbound_credit' && references.has(event.credit.accountReference)),
      ),
    );
    if (ours) return pass('a callback arrived, is signed, and tells of what this check did');
    if (now().getTime() < endsAt) {
      await pause(POLL_EVERY_MS);
      continue;
    }
    const invalid = read.filter((events) => events === null).length;
    if (invalid === 0)
      return fail(
        'no callback told of this check',
        'Enter the address of --listen at the provider, as seen from outside.',
      );
    const text = `${invalid} of ${read.length} callbacks are not signed as documented`;
    return isLive
      ? fail(text, 'Compare the signature key (`rail rotate`); ask the provider to sign callbacks.')
      : warn(text, 'Some sandboxes do not sign. Credits arrive when they are polled for.');
  }
}

export const creditChecks: readonly RailCheck[] = [
  { id: 'credit.simulated', after: ['account.one_off'], optional: true, run: simulated },
  { id: 'credit.confirm', after: ['credit.simulated'], optional: true, run: confirm },
];

/** After the transfers, of which it may hear too. */
export const callbackChecks: readonly RailCheck[] = [
  { id: 'callback.signature', after: ['auth.login'], optional: true, run: signature },
];
