// The tables of the resources, by the kind of their ids, and which resource an id or a reference at a rail names.
import { type IdKind, parseId, type Uuid } from '../ids.ts';

export const TABLES = {
  wallet: 'wallets',
  payment: 'payments',
  transfer: 'transfers',
  hold: 'holds',
  withdrawal: 'withdrawals',
  refund: 'refunds',
  payout: 'payouts',
  payoutItem: 'payout_items',
  inboundCredit: 'inbound_credits',
  reviewCase: 'review_cases',
  statementEntry: 'statement_entries',
  adjustment: 'adjustments',
} as const satisfies Partial<Record<IdKind, string>>;

export type ResourceKind = keyof typeof TABLES;

export interface NamedResource<Kind extends ResourceKind = ResourceKind> {
  kind: Kind;
  id: Uuid;
}

const KINDS = Object.keys(TABLES) as ResourceKind[];

/** The resource of a public id; null for any other text. */
export function parseResource<Kind extends ResourceKind = ResourceKind>(
  publicId: string,
  kinds: readonly Kind[] = KINDS as Kind[],
): NamedResource<Kind> | null {
  for (const kind of kinds) {
    const id = parseId(kind, publicId);
    if (id !== null) return { kind, id };
  }
  return null;
}

/** What is sent to a bank: transfers, and the money of a review case to its sender. */
export type TransferKind = 'withdrawal' | 'refund' | 'payoutItem' | 'reviewCase';

/** The id of the case that a rail's reference belongs to; null for any other reference. */
export const caseOfReference = (reference: string): Uuid | null =>
  parseId('reviewCase', reference.replace(/_[1-9]\d{0,4}$/, ''));

/** What is sent under a reference at a rail; null: nothing of ours. */
export function transferOf(reference: string): NamedResource<TransferKind> | null {
  const caseId = caseOfReference(reference);
  if (caseId !== null) return { kind: 'reviewCase', id: caseId };
  return parseResource(reference, ['withdrawal', 'refund', 'payoutItem']);
}
