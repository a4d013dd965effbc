// What customers, payers, operators and the bank may do, as data: fast-check makes up lists of these, and world.ts does them.
// Numbers name a wallet, a payment or a transfer by its place in the list of those there are.
import fc from 'fast-check';

/** Account numbers at other banks, by what the sandbox bank does with a transfer to them. */
export const DESTINATIONS = {
  takes: '0123456789',
  rejects: '9999999001',
  bounces: '9999999002',
  holds: '9999999003',
  losesTheAnswer: '9999999004',
  losesTheTransfer: '9999999005',
  doesNotExist: '9999999006',
  isAway: '9999999008',
} as const;

export type Destination = keyof typeof DESTINATIONS;

export type Command =
  | { do: 'deposit'; to: number; amount: number }
  | { do: 'depositToNobody'; amount: number }
  /** A payment, and what is then sent to its account: shares of what is payable, in percent. */
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
  /** Of a payment that is settled by then. */
  | { do: 'refund'; payment: number; percent: number; destination: Destination }
  | { do: 'payout'; from: number; items: { amount: number; destination: Destination | 'ownWallet' }[] }
  | { do: 'endTransfer'; transfer: number; outcome: 'complete' | 'reject' | 'return' }
  | { do: 'repeatCallback'; callback: number }
  | { do: 'freeze'; wallet: number; frozen: boolean };

const place = fc.nat(99);
/** Wallets begin with ₦10,000: some of these are too much for them, most are not. */
const amount = fc.oneof({ arbitrary: fc.integer({ min: 1, max: 200_000 }), weight: 9 }, fc.constant(2_000_000));
const destination = fc.constantFrom(...(Object.keys(DESTINATIONS) as Destination[]));
const anywhere = fc.oneof({ arbitrary: destination, weight: 5 }, fc.constant('ownWallet' as const));

const seldom = fc.nat(6).map((luck) => luck === 6);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deposit' as const), to: place, amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('depositToNobody' as const), amount }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('payment' as const),
      to: place,
      base: amount,
      shares: fc.oneof(
        fc.constantFrom([100], [100], [100, 100], [40], [110], [30, 70], [30, 71], [99, 0]),
        fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 3 }),
      ),
      repeated: seldom,
      late: seldom,
      payer: destination,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('transfer' as const), from: place, to: place, amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pay' as const), from: place, to: place, base: amount }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('withdraw' as const), from: place, amount, destination: anywhere }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      payment: place,
      percent: fc.constantFrom(100, 100, 50, 33, 120),
      destination,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('payout' as const),
      from: place,
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
      transfer: place,
      outcome: fc.constantFrom('complete' as const, 'reject' as const, 'return' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeatCallback' as const), callback: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), wallet: place, frozen: fc.boolean() }) },
);

/** A day: batches one after the other, the commands of each at the same time, and the moods of the postman. */
export const workload = fc.record({
  moods: fc.nat(),
  batches: fc.array(fc.array(command, { minLength: 5, maxLength: 10 }), { minLength: 7, maxLength: 7 }),
});

export type Workload = { moods: number; batches: Command[][] };
