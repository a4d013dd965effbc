// Payments whose window is shorter than the minimum of the API, so that a test can see them expire. They are made by
// the movement of `POST /payments`.
import { publicId, requireUuid } from '../../src/ids.ts';
import { acceptPayment, newPayment } from '../../src/resources/payments/movements.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import { accountRow } from '../../src/resources/wallets/virtualAccounts.ts';
import { payableAmount } from '../../src/workflows/payment/decide.ts';
import type { TestApi, TestOrganisation } from './api.ts';
import { contractFee } from './contractFee.ts';
import type { PaymentResource } from './flows.ts';

interface ShortPayment
  extends Pick<Payment, 'method' | 'baseAmount'>,
    Partial<Pick<Payment, 'onMismatch' | 'feeBearer'>> {
  /** Public id of the wallet. */
  targetWalletId: string;
  windowMs: number;
  /**
   * The flow is started by the first credit, which it therefore receives before the expiry, also on a busy machine.
   */
  startsWithCredit?: boolean;
}

/** The rail closes the number later: some refuse a time that is over when they hear of it. */
const OPEN_AT_LEAST_MS = 60_000;

/** Creates the payment. Returns the resource. */
export async function createShortPayment(
  { dependencies: { journal, rails } }: Pick<TestApi, 'dependencies'>,
  { organisationId, test }: TestOrganisation,
  {
    method,
    baseAmount,
    feeBearer = 'payer',
    onMismatch = 'hold',
    targetWalletId,
    windowMs,
    startsWithCredit,
  }: ShortPayment,
): Promise<PaymentResource> {
  const book = { organisationId, environment: 'test' } as const;
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + windowMs);
  const targetUuid = requireUuid('wallet', targetWalletId);
  const payment = newPayment({
    method,
    baseAmount,
    fee: contractFee(`${method}_payment`, baseAmount),
    feeBearer,
    targetWalletId: targetUuid,
    splits: [],
    hold: null,
    description: null,
    onMismatch,
    returnUrl: null,
    reference: null,
    metadata: null,
    expiresAt,
    createdAt,
  });
  const reference = publicId('payment', payment.id);
  const rail = await rails.of(book);
  if (rail === null) throw new Error('there is no rail');
  const account =
    method === 'virtual_wallet'
      ? null
      : accountRow(
          rail,
          { ownerKind: 'payment', ownerId: payment.id, createdAt },
          await rail.openVirtualAccount({
            organisationId,
            reference,
            holder: { name: 'Ada Obi', email: 'ada@example.com', bvn: null },
            kind: 'one_off',
            amount: payableAmount(payment),
            expiresAt: new Date(Math.max(expiresAt.getTime(), createdAt.getTime() + OPEN_AT_LEAST_MS)),
          }),
        );
  const movement = acceptPayment(book, payment, account);
  const { outcome } = await journal.post(startsWithCredit === true ? { ...movement, outbox: [] } : movement);
  if (outcome !== 'posted') throw new Error(`the payment was not created: ${outcome}`);
  return (await test.get(`/payments/${reference}`)).data as PaymentResource;
}
