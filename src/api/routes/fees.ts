// Fee quotes: the fee of a movement before it is requested. The rules are in src/ledger/fees.ts.
import { z } from 'zod';
import { CHARGED_MOVEMENTS, feeOf } from '../../ledger/fees.ts';
import { CURRENCY } from '../../money.ts';
import { findWallet } from '../../resources/wallets/queries.ts';
import { FEE_BEARERS, payableAmount } from '../../workflows/payment/decide.ts';
import { feeQuote } from '../contract/answers.ts';
import { invalidField } from '../errors.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { amount, id } from '../schemas.ts';

const quote = route({
  operationId: 'quoteFee',
  success: { status: 200, data: feeQuote },
  errors: ['WALLET_NOT_FOUND'],
  endpoint: 'GET /fees/quote',
  access: 'any',
  query: z.strictObject({
    type: z.enum(CHARGED_MOVEMENTS),
    // Query parameters are strings. Only decimal digits are accepted, not "1e3", "+5", "10.0" or "".
    amount: z
      .string()
      .regex(/^[0-9]{1,15}$/, 'must be a whole number of kobo in decimal digits')
      .transform(Number)
      .pipe(amount),
    feeBearer: z.enum(FEE_BEARERS).optional(),
    walletId: id.optional(),
  }),
  handle: async (call) => {
    const { dependencies, book, query } = call;
    const { type, amount } = query;
    const isPayment = type.endsWith('_payment');
    if (!isPayment && (query.feeBearer ?? 'payer') !== 'payer') {
      const message = 'must be payer: others bear the fee of a payment only';
      throw invalidField({ field: 'feeBearer', code: 'custom', message });
    }
    const wallet = query.walletId === undefined ? null : await requireRow(call, 'wallet', findWallet, query.walletId);
    const [rail, fees] = await Promise.all([dependencies.rails.of(book), dependencies.fees(book)]);
    const feeBearer = query.feeBearer ?? (isPayment ? fees.feeBearer : 'payer');
    const fee = feeOf(fees, { movement: type, rail: rail?.name ?? null, walletId: wallet?.id ?? null }, amount);
    const totalAmount = payableAmount({ baseAmount: amount, fee, feeBearer });
    return { type, amount, fee, feeBearer, totalAmount, currency: CURRENCY };
  },
});

export const feeRoutes: Route[] = [quote];
