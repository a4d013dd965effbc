// The requests that promises make: account numbers, and transfers.
import type { Kobo } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { AccountRequest, OpenedAccount, TransferInstruction, VirtualAccount } from '../port.ts';
import type { Destination, RailHarness } from './harness.ts';

export type Kind = AccountRequest['kind'];

const HOLDER = { name: 'Rail Check', email: 'rail-check@example.com' };
const LIFE_MS = 3_600_000;

/** With kobo: an adapter that rounds is found. */
export const ODD_AMOUNT: Kobo = 202_037;

export const needsBvn = ({ permanent }: RailCapabilities): boolean => permanent.needs.includes('bvn');

/** A request for an account number; for one payment, of at least what the rail accepts. */
export function accountRequest(
  { rail, organisationId, newReference, now, bvn }: RailHarness,
  kind: Kind,
  amount: Kobo = ODD_AMOUNT,
): AccountRequest {
  const { oneOff } = rail.capabilities;
  const common = {
    organisationId,
    reference: newReference(),
    holder: { ...HOLDER, bvn: kind === 'permanent' && needsBvn(rail.capabilities) ? bvn : null },
  };
  if (kind === 'permanent') return { ...common, kind };
  const lifeMs = Math.min(LIFE_MS, oneOff.maxSeconds * 1_000);
  return {
    ...common,
    kind,
    amount: Math.max(amount, oneOff.minAmount),
    expiresAt: new Date(now().getTime() + lifeMs),
  };
}

export const openedAs = (
  { organisationId, kind, reference }: AccountRequest,
  { accountNumber }: VirtualAccount,
): OpenedAccount => ({ organisationId, kind, reference, accountNumber });

export const instructionTo = (
  { organisationId, newReference, rail }: RailHarness,
  to: Destination,
  { amount = 250_037, narration = 'Rail check' }: Partial<TransferInstruction> = {},
): TransferInstruction => ({
  organisationId,
  reference: newReference(),
  amount: Math.max(amount, rail.capabilities.transfers.minAmount),
  accountName: null,
  narration,
  ...to,
});
