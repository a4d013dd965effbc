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

/** What was paid and returned is told by the rows of the wallet, which have the reference in their narration. */
export function bankBookOf({ book: { collections, transfers, wallet } }: MonnifyFake): BankBook {
  return {
    rail: 'monnify',
    credits: [...collections.values()].map(({ transactionReference, accountNumber, amount }) => ({
      sessionId: transactionReference,
      accountNumber,
      amount: Number(amount),
    })),
    transfers: [...transfers.values()].map(({ reference, steps, amount }) => ({
      reference,
      status: statusOf(steps),
      amount: Number(amount),
    })),
    lines: wallet.flatMap(({ type, amount, narration }): BankBook['lines'] => {
      const [, reference = ''] = narration.split('/#/');
      const transfer = transfers.get(reference);
      if (transfer === undefined) return [];
      return type === 'DEBIT'
        ? [{ kind: 'sent', reference, amount: Number(amount - transfer.fee) }]
        : [{ kind: 'returned', reference, amount: Number(amount) }];
    }),
  };
}
