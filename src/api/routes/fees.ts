// Fee quotes: the fee of a movement before it is requested. The fee schedule is src/ledger/fees.ts.
import { z } from 'zod';
import { CHARGED_MOVEMENTS, feeOf, feesOf } from '../../ledger/fees.ts';
import { CURRENCY } from '../../money.ts';
import { FEE_BEARERS, payableAmount } from '../../workflows/payment/decide.ts';
import { feeQuote } from '../contract/answers.ts';
import { invalidField } from '../errors.ts';
import { type Route, route } from '../route.ts';
import { amount } from '../schemas.ts';

const quote = route({
  operationId: 'quoteFee',
  summary: 'Quote the fee of a movement',
  success: { status: 200, data: feeQuote },
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
    feeBearer: z.enum(FEE_BEARERS).default('payer'),
  }),
  handle: async ({ dependencies, book, query }) => {
    const { type, amount, feeBearer } = query;
    if (feeBearer !== 'payer' && !type.endsWith('_payment')) {
      const message = 'must be payer: others bear the fee of a payment only';
      throw invalidField({ field: 'feeBearer', code: 'custom', message });
    }
    const rail = await dependencies.rails.of(book);
    const fee = feeOf(feesOf(dependencies.fees, rail?.name ?? null), type, amount);
    const totalAmount = payableAmount({ baseAmount: amount, fee, feeBearer });
    return { type, amount, fee, feeBearer, totalAmount, currency: CURRENCY };
  },
});

export const feeRoutes: Route[] = [quote];
