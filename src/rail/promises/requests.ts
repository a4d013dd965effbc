// The requests that promises make: account numbers, and transfers to an account that no earlier transfer went to.
import type { Kobo } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { AccountRequest, OpenedAccount, TransferInstruction, VirtualAccount } from '../port.ts';
import type { ControlledHarness } from './control.ts';
import type { RailHarness } from './harness.ts';

export type Kind = AccountRequest['kind'];
export const KINDS: readonly Kind[] = ['one_off', 'permanent'];

/** Why a promise about account numbers of this kind is not tried; null: it is. */
export const withoutKind =
  (kind: Kind) =>
  ({ oneOff, permanent }: RailCapabilities): string | null => {
    if ((kind === 'one_off' ? oneOff : permanent) !== null) return null;
    return `the rail opens no account numbers for ${kind === 'one_off' ? 'payments' : 'wallets'}`;
  };

const HOLDER = {
  name: 'Rail Check',
  email: 'rail-check@example.com',
  phone: null,
  bvn: null,
  nin: null,
  dateOfBirth: null,
};
const LIFE_MS = 3_600_000;

/** With kobo: an adapter that rounds is found. */
export const ODD_AMOUNT: Kobo = 202_037;

export function needsNumber({ permanent }: RailCapabilities): boolean {
  return permanent?.needs.includes('bvn_or_nin') === true;
}

/** A request for an account number; for one payment, of at least what the rail accepts. */
export function accountRequest(
  { rail, organisationId, newReference, now, bvn }: RailHarness,
  kind: Kind,
  amount: Kobo = ODD_AMOUNT,
): AccountRequest {
  const { oneOff } = rail.capabilities;
  const withNumber = kind === 'permanent' && needsNumber(rail.capabilities);
  const common = {
    organisationId,
    reference: newReference(),
    accountName: HOLDER.name,
    holder: { ...HOLDER, bvn: withNumber ? bvn : null },
    description: 'Rail check',
  };
  if (kind === 'permanent') return { ...common, kind };
  const lifeMs = Math.min(LIFE_MS, (oneOff?.maxSeconds ?? 0) * 1_000);
  return {
    ...common,
    kind,
    amount: Math.max(amount, oneOff?.minAmount ?? 0),
    expiresAt: new Date(now().getTime() + lifeMs),
  };
}

/** What the account was opened for; one of a wallet takes any. */
export const amountOf = (request: AccountRequest): Kobo => (request.kind === 'one_off' ? request.amount : ODD_AMOUNT);

export const openedAs = (
  { organisationId, kind, reference }: AccountRequest,
  { accountNumber, railReference }: VirtualAccount,
): OpenedAccount => ({ organisationId, kind, reference, railReference, accountNumber });

/** To an account that no earlier transfer went to. */
export const instruct = async (
  { organisationId, newReference, control }: ControlledHarness,
  more: Partial<TransferInstruction> = {},
): Promise<TransferInstruction> => ({
  organisationId,
  reference: newReference(),
  amount: 250_037,
  accountName: null,
  narration: 'Rail check',
  ...(await control.newDestination()),
  ...more,
});
