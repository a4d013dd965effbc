// The book of the Monnify fake in the form in which banks are compared with ours.
import type { BankBook } from '../chaos/invariants.ts';
import type { TransferStep } from './book.ts';
import type { MonnifyFake } from './fake.ts';

const STATUSES: Record<string, BankBook['transfers'][number]['status']> = {
  SUCCESS: 'completed',
  FAILED: 'failed',
  REVERSED: 'returned',
};

export const statusOf = ([step]: readonly TransferStep[]): BankBook['transfers'][number]['status'] =>
  STATUSES[step?.status ?? ''] ?? 'processing';

/** The row of a charge alone, beside that of its transfer. */
const OF_CHARGE = /_(DEBIT|CREDIT)_1$/;

/** What was paid and returned is told by the rows of the wallet, which have the reference in their narration. */
export function bankBookOf({ book }: MonnifyFake): BankBook {
  const { collections, transfers, wallet, feeRows, returnsFees } = book;
  return {
    rail: 'monnify',
    credits: [...collections.values()].map(({ transactionReference, accountNumber, amount, status }) => ({
      sessionId: transactionReference,
      accountNumber,
      amount: Number(amount),
      recalled: status === 'REVERSED',
    })),
    transfers: [...transfers.values()].map(({ reference, steps, amount }) => ({
      reference,
      status: statusOf(steps),
      amount: Number(amount),
    })),
    lines: wallet.flatMap(({ type, amount, narration, reference: row }): BankBook['lines'] => {
      const [, reference = ''] = narration.split('/#/');
      const transfer = transfers.get(reference);
      if (transfer === undefined || OF_CHARGE.test(row)) return [];
      const hasCharge = feeRows === 'in_amount' && (type === 'DEBIT' || returnsFees);
      const kind = type === 'DEBIT' ? 'sent' : 'returned';
      return [{ kind, reference, amount: Number(hasCharge ? amount - transfer.fee : amount) }];
    }),
    holds: Number(book.balance + book.collected),
  };
}
