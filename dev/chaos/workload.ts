// The commands of customers, payers, operators and the bank, as data: fast-check generates lists of them, and
// simulation.ts executes them. Numbers identify a wallet, a payment or a transfer by its position in the list of
// existing ones.
import fc from 'fast-check';
import { DESTINATIONS, type Destination } from './requests.ts';

export type Command =
  | { do: 'deposit'; to: number; amount: number }
  | { do: 'depositToUnknownAccount'; amount: number }
  /** A payment and the credits to its account, as percentages of the payable amount. */
  | {
      do: 'payment';
      to: number;
      base: number;
      shares: readonly number[];
      repeated: boolean;
      late: boolean;
      payer: Destination;
    }
  | { do: 'transfer'; from: number; to: number; amount: number }
  | { do: 'pay'; from: number; to: number; base: number }
  | { do: 'withdraw'; from: number; amount: number; destination: Destination | 'ownWallet' }
  /** Of a settled payment. */
  | { do: 'refund'; payment: number; percent: number; destination: Destination }
  | { do: 'payout'; from: number; items: { amount: number; destination: Destination | 'ownWallet' }[] }
  | { do: 'endTransfer'; transfer: number; outcome: 'complete' | 'reject' | 'return' }
  | { do: 'repeatCallback'; callback: number }
  | { do: 'freeze'; wallet: number; frozen: boolean };

const position = fc.nat(99);
/** Wallets start with ₦10,000: most of these amounts are covered, some are not. */
const amount = fc.oneof({ arbitrary: fc.integer({ min: 1, max: 200_000 }), weight: 9 }, fc.constant(2_000_000));
export const destination = fc.constantFrom(...(Object.keys(DESTINATIONS) as Destination[]));
const anywhere = fc.oneof({ arbitrary: destination, weight: 5 }, fc.constant('ownWallet' as const));

const rarely = fc.nat(6).map((value) => value === 6);

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deposit' as const), to: position, amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('depositToUnknownAccount' as const), amount }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('payment' as const),
      to: position,
      base: amount,
      shares: fc.oneof(
        fc.constantFrom([100], [100], [100, 100], [40], [110], [30, 70], [30, 71], [99, 0]),
        fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 3 }),
      ),
      repeated: rarely,
      late: rarely,
      payer: destination,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('transfer' as const), from: position, to: position, amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pay' as const), from: position, to: position, base: amount }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('withdraw' as const), from: position, amount, destination: anywhere }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      payment: position,
      percent: fc.constantFrom(100, 100, 50, 33, 120),
      destination,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('payout' as const),
      from: position,
      items: fc.array(fc.record({ amount: fc.integer({ min: 1, max: 60_000 }), destination: anywhere }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('endTransfer' as const),
      transfer: position,
      outcome: fc.constantFrom('complete' as const, 'reject' as const, 'return' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeatCallback' as const), callback: position }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), wallet: position, frozen: fc.boolean() }) },
);

/** A day: batches that run one after the other, each with concurrent commands, and the seed of the callback faults. */
export const workload = fc.record({
  faultSeed: fc.nat(),
  batches: fc.array(fc.array(command, { minLength: 5, maxLength: 10 }), { minLength: 7, maxLength: 7 }),
});

export type Workload = { faultSeed: number; batches: Command[][] };
