// Money that came for a payment, posted as its flow does it, for tests without a worker.
import type { Uuid } from '../../src/ids.ts';
import type { Book, Kobo } from '../../src/money.ts';
import { creditMovement, paymentAfter } from '../../src/resources/payments/movements.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { decideCredit } from '../../src/workflows/payment/decide.ts';
import type { TestApi } from './api.ts';
import { newCredit } from './rows.ts';

/** A credit of this amount, of the account `sender`, to an open payment. */
export async function creditPayment(
  api: Pick<TestApi, 'sql' | 'dependencies'>,
  book: Book,
  paymentId: Uuid,
  amount: Kobo,
  sender: { accountNumber: string; bankCode: string } = { accountNumber: '0123456789', bankCode: '058' },
): Promise<void> {
  const payment = await findPayment(api.sql, book, paymentId);
  if (payment === null) throw new Error('the payment is missing');
  const credit = newCredit({
    amount,
    ownerKind: 'payment',
    ownerId: payment.id,
    senderName: 'Chidi Eze',
    senderAccountNumber: sender.accountNumber,
    senderBankCode: sender.bankCode,
  });
  const decision = decideCredit(payment, credit, 'all');
  if (decision.kind === 'to_suspense') throw new Error(`the payment takes no credit: ${decision.reason}`);
  const movement = creditMovement(book, payment, paymentAfter(payment, decision), credit, decision);
  const rows = { ...movement.rows, inbound_credits: [{ ...credit, status: 'posted' as const }] };
  const { outcome } = await api.dependencies.journal.post({ ...movement, rows });
  if (outcome !== 'posted') throw new Error(`the payment is not credited: ${outcome}`);
}
