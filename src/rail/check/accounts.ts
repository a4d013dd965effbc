// Checks of account numbers. Each closes what it opened.
import type { Kobo } from '../../money.ts';
import type { AccountRequest, OpenedAccount, VirtualAccount } from '../port.ts';
import type { CheckBench } from './bench.ts';
import { type Finding, fail, notOffered, pass, type RailCheck, skip } from './check.ts';

/** With kobo: an adapter that rounds is found. */
const ODD_AMOUNT: Kobo = 202_037;
const LIFE_MS = 3_600_000;
const EXPIRY_APART_MAX_MS = 60_000;

const HOLDER = {
  name: 'Rail Check',
  email: 'rail-check@example.com',
  phone: null,
  bvn: null,
  nin: null,
  dateOfBirth: null,
};

type OneOff = Extract<AccountRequest, { kind: 'one_off' }>;

/** A request for a number for one payment, of at least what the rail accepts. */
export function oneOffRequest({ rail, organisationId, newReference, now }: CheckBench, amount: Kobo): OneOff {
  const { minAmount, maxSeconds } = rail.capabilities.oneOff ?? { minAmount: 0, maxSeconds: 0 };
  return {
    kind: 'one_off',
    organisationId,
    reference: newReference(),
    accountName: HOLDER.name,
    holder: HOLDER,
    description: 'Rail check',
    amount: Math.max(amount, minAmount),
    expiresAt: new Date(now().getTime() + Math.min(LIFE_MS, maxSeconds * 1_000)),
  };
}

export const openedAs = (
  { organisationId, kind, reference }: AccountRequest,
  { accountNumber, railReference }: VirtualAccount,
): OpenedAccount => ({ organisationId, kind, reference, railReference, accountNumber });

/** Opens an account number twice, and closes it twice. Null: it is as promised. */
async function openAndClose(
  { rail, limit }: CheckBench,
  request: AccountRequest,
  examine: (account: VirtualAccount) => Finding | null,
): Promise<Finding | null> {
  const account = await rail.openVirtualAccount(request, limit());
  const again = await rail.openVirtualAccount(request, limit());
  const closes = request.kind === 'permanent' || rail.capabilities.oneOff?.closes === true;
  if (closes)
    for (let time = 0; time < 2; time += 1) await rail.closeVirtualAccount(openedAs(request, account), limit());
  if (!/^[0-9]{10}$/.test(account.accountNumber))
    return fail('the account number does not have ten digits', 'Report this with the stored exchanges.');
  if (again.accountNumber !== account.accountNumber)
    return fail(
      'the same reference was given another number',
      'Report this with the stored exchanges: a response that is lost would leave a number that nobody watches.',
    );
  return examine(account);
}

async function oneOff(bench: CheckBench): Promise<Finding> {
  if (bench.rail.capabilities.oneOff === null) return notOffered('the rail opens no account numbers for payments');
  const request = oneOffRequest(bench, ODD_AMOUNT);
  const finding = await openAndClose(bench, request, ({ expiresAt }) => {
    if (expiresAt === null) return fail('the number never expires', 'Report this with the stored exchanges.');
    const apart = Math.abs(expiresAt.getTime() - request.expiresAt.getTime());
    if (apart <= EXPIRY_APART_MAX_MS) return null;
    return fail(
      `the number expires ${Math.round(apart / 60_000)} minutes from what was asked for`,
      'Report this with the stored exchanges: the provider uses another time zone than the adapter.',
    );
  });
  return finding ?? pass('opened with kobo, the same number for the same reference, expires as asked for, closes');
}

async function permanent(bench: CheckBench): Promise<Finding> {
  const { rail, organisationId, newReference, bvn } = bench;
  const capability = rail.capabilities.permanent;
  if (capability === null) return notOffered('the rail opens no account numbers for wallets');
  const needsNumber = capability.needs.includes('bvn_or_nin');
  if (needsNumber && bvn === null)
    return skip('no BVN was given', 'Run it with --bvn, with the BVN of somebody who agreed.');
  const holder = { ...HOLDER, bvn: needsNumber ? bvn : null };
  const request: AccountRequest = {
    kind: 'permanent',
    organisationId,
    reference: newReference(),
    accountName: HOLDER.name,
    holder,
    description: 'Rail check',
  };
  const finding = await openAndClose(bench, request, () => null);
  return finding ?? pass('opened, the same number for the same reference, closes');
}

export const accountChecks: readonly RailCheck[] = [
  { id: 'account.one_off', after: ['auth.login'], run: oneOff },
  { id: 'account.permanent', after: ['auth.login'], optional: true, run: permanent },
];
