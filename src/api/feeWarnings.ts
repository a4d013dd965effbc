// Fees that do not pay for the rail: what the provider charges by its list prices is more than the fee of the service.
import { type FeeSchedule, feeOf } from '../ledger/fees.ts';
import { type Kobo, nairaText } from '../money.ts';
import { collectionCharge, type RailCapabilities, transferCharge } from '../rail/capabilities.ts';

/** Amounts of a few naira up to millions: a charge grows, or is capped, between two of them. */
const AMOUNTS: readonly Kobo[] = [10, 20, 50].flatMap((start) =>
  Array.from({ length: 7 }, (_, power) => start * 100 * 10 ** power),
);

/** A warning for each kind of movement whose fee is below the charge, at the smallest amount where it is. */
export function feesBelowCharges(
  rail: string,
  schedule: FeeSchedule,
  capabilities: Pick<RailCapabilities, 'charges'>,
): string[] {
  const amounts = AMOUNTS.toSorted((a, b) => a - b);
  const payments = { name: 'payment', fee: (amount: Kobo) => feeOf(schedule, 'bank_transfer_payment', amount) };
  const transfers = { name: 'bank transfer', fee: (amount: Kobo) => feeOf(schedule, 'withdrawal', amount) };
  return [
    { ...payments, charge: (amount: Kobo) => collectionCharge(capabilities, amount + payments.fee(amount)) },
    { ...transfers, charge: (amount: Kobo) => transferCharge(capabilities, amount) },
  ].flatMap(({ name, fee, charge }) => {
    const amount = amounts.find((each) => charge(each) > fee(each));
    if (amount === undefined) return [];
    const [taken, paid] = [nairaText(charge(amount)), nairaText(fee(amount))];
    return `a ${name} of ${nairaText(amount)} costs ${taken} at the rail ${rail}, and its fee is ${paid}`;
  });
}
