// Payments whose window is shorter than the minimum of the API, so that a test can see them expire. They are made by
// the movement of `POST /payments`.
import { publicId, requireUuid } from '../../src/ids.ts';
import { acceptPayment, newPayment } from '../../src/resources/payments/movements.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import type { TestApi, TestOrganisation } from './api.ts';
import type { PaymentResource } from './flows.ts';

interface ShortPayment extends Pick<Payment, 'method' | 'baseAmount'> {
  /** Public id of the wallet. */
  targetWalletId: string;
  windowMs: number;
  /**
   * The flow is started by the first credit, which it therefore receives before the expiry, also on a busy machine.
   */
  startsWithCredit?: boolean;
}

/** Creates the payment. Returns the resource. */
export async function createShortPayment(
  { dependencies: { journal, rails } }: Pick<TestApi, 'dependencies'>,
  { organisationId, test }: TestOrganisation,
  { method, baseAmount, targetWalletId, windowMs, startsWithCredit }: ShortPayment,
): Promise<PaymentResource> {
  const book = { organisationId, environment: 'test' } as const;
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + windowMs);
  const targetUuid = requireUuid('wallet', targetWalletId);
  const payment = newPayment({
    method,
    baseAmount,
    targetWalletId: targetUuid,
    description: null,
    expiresAt,
    createdAt,
  });
  const reference = publicId('payment', payment.id);
  const rail = rails.of('test');
  if (rail === null) throw new Error('there is no rail');
  const account =
    method === 'virtual_wallet'
      ? null
      : {
          ...(await rail.openVirtualAccount({ organisationId, reference, accountName: 'Ada Obi', expiresAt })),
          rail: rail.name,
          ownerKind: 'payment' as const,
          ownerId: payment.id,
          expiresAt,
          createdAt,
        };
  const movement = acceptPayment(book, payment, account);
  const { outcome } = await journal.post(startsWithCredit === true ? { ...movement, outbox: [] } : movement);
  if (outcome !== 'posted') throw new Error(`the payment was not created: ${outcome}`);
  return (await test.get(`/payments/${reference}`)).data as PaymentResource;
}
