// Promises about transfers that a real provider can be tried with. They move money, of which together no more than 200
// naira, to an account of the operator's own.
import { type Kobo, nairaText } from '../../money.ts';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../errors.ts';
import type { TransferInstruction, TransferReport } from '../port.ts';
import type { FirstSend, RailHarness } from './harness.ts';
import { type Finding, fail, fault, pass, skip, warn } from './promise.ts';
import { instructionTo } from './requests.ts';

/** Different, so that no two are equal to the guard of a provider against duplicates. */
const AMOUNTS = { ok: 4_000, kobo: 4_037, narration: 4_100, twin: 3_900 };
/** 100 characters, as customers write them. */
const NARRATION = `Café “rent” for #12 – müller & söhne's <b>; 50% ${'x'.repeat(52)}`;

const POLL_EVERY_MS = 1_000;
/** By then a transfer between banks has ended. */
const ENDS_WITHIN_MS = 600_000;
const BALANCE_DUE_AFTER_MS = 2_000;

function instruct(harness: RailHarness, amount: Kobo, narration?: string): TransferInstruction {
  if (harness.to === null) throw new Error('a transfer needs an account');
  return instructionTo(harness, harness.to, { amount, narration });
}

/** Reads the status until the transfer has ended, or waits for an approval, or time is up. */
async function follow(
  { rail, organisationId, now, pause, limit, facts }: RailHarness,
  instruction: TransferInstruction,
  onStatus: (report: TransferReport) => void = () => {},
): Promise<TransferReport | null> {
  const { reference } = instruction;
  const endsAt = now().getTime() + ENDS_WITHIN_MS;
  for (let last: TransferReport | null = null; ; ) {
    const report = await rail.transferStatus({ organisationId, reference }, limit());
    if (report !== null) onStatus(report);
    last = report ?? last;
    if (last?.status === 'completed') facts.paid.push(instruction);
    const isOver = last !== null && (last.status !== 'processing' || last.awaitsApproval === true);
    if (isOver || now().getTime() >= endsAt) return last;
    await pause(POLL_EVERY_MS);
  }
}

/** What the end of a transfer means; null: it was paid. */
function endOf(last: TransferReport | null): Finding | null {
  if (last === null)
    return fail('the transfer was never found by its reference', 'Ask the provider; do not send it again.');
  const { status, reason, awaitsApproval } = last;
  if (status === 'completed') return null;
  if (awaitsApproval === true) return fail('the transfer waits for an approval', 'See transfer.otp.');
  if (status === 'processing')
    return fail('the transfer is still in progress after ten minutes', 'Ask the provider about the reference.');
  return fail(
    `the transfer is ${status}: ${reason ?? 'without a reason'}`,
    'Use another account, or ask the provider.',
  );
}

export async function ok(harness: RailHarness): Promise<Finding> {
  const { rail, organisationId, now, limit, facts } = harness;
  const instruction = instruct(harness, AMOUNTS.ok);
  const balanceBefore = rail.capabilities.transfers.balance ? await rail.balance({ organisationId }, limit()) : null;
  const sentAt = now().getTime();
  const sent = await harness.send(instruction).catch((error: unknown) => error as Error);
  const first: FirstSend = { instruction, balanceBefore, sent, last: null, visibleAfterMs: null };
  facts.firstSend = first;
  // Without a legible response it may have been sent: its status reports.
  if (sent instanceof Error && !(sent instanceof RailUnavailableError)) throw sent;
  const words: string[] = sent instanceof Error ? [] : [sent.status];
  first.last = await follow(harness, instruction, ({ status }) => {
    first.visibleAfterMs ??= now().getTime() - sentAt;
    if (words.at(-1) !== status) words.push(status);
  });
  if (first.last?.status === 'completed' && sent instanceof Error)
    return fail('the response to the send was not legible', sent.message);
  const end = endOf(first.last);
  if (end !== null) return end;
  const { charge = null, sessionId = null } = first.last ?? {};
  const cost = charge === null ? 'the charge is not reported' : `${nairaText(charge)} charge`;
  const session = sessionId === null ? 'no session id' : 'a session id';
  return pass(
    `${words.join(', then ')} after ${Math.round((now().getTime() - sentAt) / 1_000)} s; ${cost}, ${session}`,
  );
}

const NOT_SENT = skip('no transfer was sent', 'See transfer.ok.');

export function otp({ facts: { firstSend } }: RailHarness): Finding {
  const { sent, last } = firstSend ?? {};
  const report = last ?? (sent instanceof Error ? null : sent);
  if (report === null || report === undefined) return NOT_SENT;
  return report.awaitsApproval === true
    ? fail(
        'transfers wait for a one-time password or an approval',
        'Ask the provider to switch that off for transfers by API: no one enters it, and they expire.',
      )
    : pass('transfers need no approval');
}

export function ip({ facts: { firstSend } }: RailHarness): Finding {
  if (firstSend === null) return NOT_SENT;
  const { sent } = firstSend;
  if (!(sent instanceof RailNotReadyError)) return pass('transfers are accepted from this machine');
  if (sent.why !== 'unauthorised' && sent.why !== 'feature_off') return NOT_SENT;
  return fail(
    `transfers are not accepted (${sent.why}), although the credentials are`,
    'Have the provider enable transfers, and list the public addresses of this machine, of the API and of the workers.',
  );
}

export async function repeat(harness: RailHarness): Promise<Finding> {
  const { rail, organisationId, limit, pause, facts } = harness;
  if (facts.firstSend === null) return NOT_SENT;
  const { instruction, balanceBefore, last } = facts.firstSend;
  await harness.send(instruction);
  await pause(BALANCE_DUE_AFTER_MS);
  const after = await rail.balance({ organisationId }, limit());
  if (balanceBefore === null || after === null)
    return pass('the repetition has a response; the statement shows whether it was paid once');
  return paidOnce(balanceBefore - after, instruction.amount, last?.charge ?? null);
}

/** What left the balance after two sends of one reference. A charge that is not reported is less than the amount. */
function paidOnce(moved: Kobo, amount: Kobo, charge: Kobo | null): Finding {
  const text = `after two sends ${nairaText(moved)} left the balance`;
  if (moved === amount + (charge ?? 0)) return pass(text);
  if (moved >= 2 * amount)
    return fail(
      `${text}: the reference was paid twice`,
      'Do not use this contract: a response that is lost would cost the amount again.',
    );
  return charge === null && moved > amount
    ? pass(text)
    : warn(
        `${text}, where ${nairaText(amount)} and a charge were expected`,
        'If nothing else was paid meanwhile, see the statement at the provider.',
      );
}

export async function unknown({ rail, organisationId, newReference, limit, facts }: RailHarness): Promise<Finding> {
  const report = await rail.transferStatus({ organisationId, reference: newReference() }, limit());
  if (report !== null) return fault('a reference that was never sent has a status');
  const text = 'a reference that was never sent is reported as unknown';
  const { sent, visibleAfterMs = null } = facts.firstSend ?? {};
  if (visibleAfterMs === null)
    return sent === undefined || sent instanceof Error
      ? pass(text)
      : fail('an accepted transfer was not found within ten minutes', 'Report this: it would be sent again.');
  const lag = `a new one was found after ${Math.ceil(visibleAfterMs / 1_000)} s`;
  return visibleAfterMs < rail.capabilities.transfers.notVisibleForMs
    ? pass(`${text}; ${lag}`)
    : fail(lag, 'Report this: by then the adapter reads it as never received, and would send it again.');
}

/** Sends a transfer that only differs in what is checked. */
async function sendLike(harness: RailHarness, what: string, amount: Kobo, narration?: string): Promise<Finding> {
  const instruction = instruct(harness, amount, narration);
  await harness.send(instruction);
  const last = await follow(harness, instruction);
  const end = endOf(last);
  if (end !== null) return end;
  return last?.amount === instruction.amount
    ? pass(`${what} was paid`)
    : warn(`${what} was paid, and its amount is not reported`, 'The statement reports it.');
}

export const kobo = (harness: RailHarness): Promise<Finding> => sendLike(harness, 'an amount with kobo', AMOUNTS.kobo);

export const narration = (harness: RailHarness): Promise<Finding> =>
  sendLike(harness, 'a narration of 100 characters with quotes and accents', AMOUNTS.narration, NARRATION);

export async function twin(harness: RailHarness): Promise<Finding> {
  const { rail, pause } = harness;
  const [first, second] = [instruct(harness, AMOUNTS.twin), instruct(harness, AMOUNTS.twin)];
  const gapMs = rail.capabilities.transfers.sameRecipientGapMs;
  await harness.send(first);
  await pause(1_000);
  const sent = await harness.send(second).catch((error: unknown) => error as Error);
  await follow(harness, first);
  if (!(sent instanceof Error)) {
    await follow(harness, second);
    return gapMs === 0
      ? pass('two equal transfers to one account were accepted')
      : warn('two equal transfers to one account were accepted, where a guard is expected', 'Nothing: it may be off.');
  }
  if (sent instanceof RailNotReadyError && (sent.why === 'duplicate_guard' || sent.why === 'rate_limited')) {
    const text = `the second of two equal transfers to one account was not accepted (${sent.why})`;
    return gapMs > 0
      ? pass(`${text}; it would be sent again later`)
      : warn(text, 'Equal payments to one account wait. Ask the provider how long.');
  }
  if (sent instanceof RailRefusedError)
    return fault(
      `the second of two equal transfers to one account is refused for good: ${sent.message}`,
      'a good transfer would fail',
    );
  throw sent;
}
