// Review cases without a flow: the movement that puts a credit into suspense.
import { publicId, requireUuid } from '../../src/ids.ts';
import { creditToSuspense } from '../../src/resources/inboundCredits/movements.ts';
import type { ReviewCase, ReviewReason } from '../../src/resources/reviewCases/queries.ts';
import type { TestApi, TestOrganisation } from './api.ts';
import { newCredit } from './rows.ts';

interface About {
  amount?: number;
  reason?: ReviewReason;
  /** Default: a known account. */
  sender?: string | null;
}

/** Opens a case about money for a wallet, or for none that is known. Returns the public id of the case. */
export async function openCase(
  { dependencies: { journal } }: Pick<TestApi, 'dependencies'>,
  { organisationId }: Pick<TestOrganisation, 'organisationId'>,
  walletId: string | null,
  { amount = 5_000, reason = 'over_limit', sender = '0123456789' }: About = {},
): Promise<string> {
  const credit = newCredit({
    amount,
    senderName: sender && 'Chidi Eze',
    senderAccountNumber: sender,
    senderBankCode: sender && '058',
  });
  const wallet = walletId === null ? null : requireUuid('wallet', walletId);
  const movement = creditToSuspense({ organisationId, environment: 'test' }, credit, reason, wallet);
  const { outcome } = await journal.post(movement);
  if (outcome !== 'posted') throw new Error(`the case was not opened: ${outcome}`);
  const [row] = (movement.rows?.review_cases ?? []) as readonly ReviewCase[];
  return publicId('reviewCase', row?.id ?? '');
}
