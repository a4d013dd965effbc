// The fee of a movement where no schedule has a rule for it.
import { type Charge, CONTRACT_FEES, feeOf } from '../../src/ledger/fees.ts';
import type { Kobo } from '../../src/money.ts';

export const contractFee = (movement: Charge['movement'], amount: Kobo): Kobo =>
  feeOf(CONTRACT_FEES, { movement, rail: null, walletId: null }, amount);
