// Promises that are only read: clock, banks, name enquiry, balance, and the limit of calls.
import { nairaText } from '../../money.ts';
import { RailNotReadyError, RailUnavailableError } from '../errors.ts';
import { MONEY_MAX, type RailHarness } from './harness.ts';
import { type Finding, fail, fault, pass, warn } from './promise.ts';

const CLOCKS_MAX_MS = 30_000;
const BANKS_MIN = 20;
/** The banks with the most accounts: Access, First, GTBank, UBA and Zenith, by the codes of the Central Bank. */
const LARGE_BANKS = ['044', '011', '058', '033', '057'];
/** No bank issues the number, and no bank has the code. */
const NO_ACCOUNT = '0000000000';
const NO_BANK = '998';
const BURST = 20;

export function clock({ exchanges }: RailHarness): Finding {
  const { date = null, at = null } = exchanges.findLast((one) => one.date !== null) ?? {};
  if (date === null || at === null)
    return warn('no response has the time', 'Keep the clocks of your machines synchronised (NTP).');
  const apart = Math.abs(date.getTime() - at.getTime());
  const text = `the clocks are ${Math.round(apart / 1_000)} s apart`;
  return apart <= CLOCKS_MAX_MS
    ? pass(text)
    : fail(text, 'Synchronise the clock of this machine, and of the service (NTP).');
}

export async function banks({ rail }: RailHarness): Promise<Finding> {
  const list = await rail.banks();
  const codes = list.map(({ code }) => code);
  const nipCodes = list.flatMap(({ nipCode }) => nipCode ?? []);
  const otherwise = 'a transfer would go to another bank, or to none';
  if (list.length < BANKS_MIN) return fault(`the list has ${list.length} banks`, otherwise);
  const malformed = codes.filter((code) => !/^[0-9]{3,6}$/.test(code));
  if (malformed.length > 0) return fault(`${malformed.length} codes are not of the Central Bank`, otherwise);
  const hasTwice = (given: readonly string[]): boolean => new Set(given).size < given.length;
  if (hasTwice(codes) || hasTwice(nipCodes)) return fault('two banks have one code', otherwise);
  const missing = LARGE_BANKS.filter((code) => !codes.includes(code));
  if (missing.length > 0)
    return warn(`the list lacks the codes ${missing.join(', ')}`, 'Ask the provider whether transfers go there.');
  return pass(`${list.length} banks, ${nipCodes.length} of them with a NIP code`);
}

export async function resolveOk({ rail, organisationId, to, limit }: RailHarness): Promise<Finding> {
  const found = to && (await rail.resolveAccount({ organisationId, ...to }, limit()));
  return found === null
    ? fail('name enquiry finds no such account', 'Correct --to and --bank.')
    : pass('the account has a holder');
}

/** Where the enquiry must find nothing. */
async function resolveNothing(
  harness: RailHarness,
  what: string,
  accountNumber: string,
  bankCode: string,
): Promise<Finding> {
  const { rail, organisationId, isLive, limit } = harness;
  const found = await rail.resolveAccount({ organisationId, accountNumber, bankCode }, limit());
  if (found === null) return pass(`${what} is reported as one that does not exist`);
  const text = `${what} has a holder`;
  return isLive
    ? fail(text, 'Ask the provider whether name enquiry is real for your contract.')
    : warn(text, 'Expect this of a sandbox only.');
}

export const resolveUnknown = async (harness: RailHarness): Promise<Finding> =>
  resolveNothing(
    harness,
    'an account number that no bank issues',
    harness.noAccount?.accountNumber ?? NO_ACCOUNT,
    harness.noAccount?.bankCode ?? harness.to?.bankCode ?? LARGE_BANKS[0] ?? '',
  );

/** The service enquires at banks of the list only, so that a provider may refuse the question too. */
export const resolveUnknownBank = async (harness: RailHarness): Promise<Finding> =>
  await resolveNothing(
    harness,
    'an account at an unknown bank',
    harness.to?.accountNumber ?? NO_ACCOUNT,
    NO_BANK,
  ).catch((error: unknown) => {
    if (error instanceof RailUnavailableError && error.ofOneAccount) return pass('an unknown bank is refused');
    throw error;
  });

export async function balance({ rail, organisationId, movesMoney, limit }: RailHarness): Promise<Finding> {
  if (!rail.capabilities.transfers.balance)
    return warn('the rail does not report its balance', 'Watch it at the provider: transfers wait when it is too low.');
  const available = await rail.balance({ organisationId }, limit());
  if (available === null) return fault('the balance is not reported');
  const text = `${nairaText(available)} can be paid out`;
  if (!movesMoney || available >= 2 * MONEY_MAX) return pass(text);
  return fail(text, `Fund the account that transfers are paid from with ${nairaText(2 * MONEY_MAX)} at least.`);
}

/** What the rail does with a burst. A call that is rate limited waits, so this fails on unclear responses only. */
export async function limits({ rail, organisationId, to, limit }: RailHarness): Promise<Finding> {
  if (to === null) return fail('no account was named', 'Name one.');
  const calls = Array.from({ length: BURST }, () => rail.resolveAccount({ organisationId, ...to }, limit()));
  const ends = await Promise.allSettled(calls);
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  const limited = errors.filter((error) => error instanceof RailNotReadyError && error.why === 'rate_limited');
  if (errors.length > limited.length)
    return fail(
      `${errors.length} of ${BURST} calls at once failed, and not with a rate limit`,
      'Ask the provider how many calls a second it accepts, and set RAIL_ACTIVITIES_PER_SECOND of the workers by that.',
    );
  return limited.length === 0
    ? pass(`${BURST} calls at once were answered`)
    : warn(
        `${limited.length} of ${BURST} calls at once were refused for their rate`,
        'Set RAIL_ACTIVITIES_PER_SECOND of the workers by what the provider accepts.',
      );
}
