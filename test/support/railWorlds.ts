// Live rails for the tests of flows: each adapter over its stand-in, which calls the service back. The tests that use
// them are the same for every provider.
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { instrumentedRail } from '../../src/rail/instrumented.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { BankRail } from '../../src/rail/port.ts';

/** What goes wrong with a send. The provider accepts it all the same, or does not. */
export type SendFault = 'reset' | 'html_502' | 'null_body' | 'rate_limited';

export interface RailWorld {
  rail: BankRail;
  /** Whether the rail's silence about a reference is final, so that it is sent again; here, within seconds. */
  sendsAgain: boolean;
  /** Credentials and tokens, which nothing may keep. */
  secrets: readonly string[];
  /** Sets where the provider sends its callbacks; null: they are lost. */
  callBackAt: (url: string | null) => void;
  /** A customer pays into an account number. */
  pay: (accountNumber: string, amount: number) => Promise<void>;
  /** What becomes of the next send. */
  breakSend: (fault: SendFault, acts: boolean) => void;
  /** The references that the provider has accepted. */
  references: () => string[];
  /** The end of a transfer at the receiving bank. */
  end: (reference: string, outcome: 'complete' | 'fail' | 'return') => Promise<void>;
  /** Transfers that were paid more than once. */
  paidTwice: () => string[];
  /** How often a transfer was paid. */
  timesPaid: (reference: string) => number;
  /** Settles what was collected, where that is another balance. */
  settle: () => Promise<unknown>;
  /** What the provider holds for us more than at the start, in all its balances. */
  holds: () => bigint;
  /** Ends it. Returns the requests that the adapter must never send. */
  close: () => Promise<readonly string[]>;
}

/** Monnify's silence is final after a quarter of an hour. The stand-in knows what it accepted at once. */
const SILENCE_MS = 3_000;

function impatient(rail: BankRail): BankRail {
  const { calls, transfers } = rail.capabilities;
  const capabilities = {
    ...rail.capabilities,
    calls: { ...calls, limitMs: SILENCE_MS },
    transfers: { ...transfers, unknownIsFinalAfterMs: SILENCE_MS },
  };
  return { ...rail, capabilities };
}

/** A failure is believed when the transfer is a minute old, so the adapter's clock is ahead. */
const AHEAD_MS = 120_000;

async function startMonnify(): Promise<RailWorld> {
  const fake = await new MonnifyFake().start();
  const start = fake.book.balance;
  const rail = createMonnifyRail(fake.credentials, () => new Date(Date.now() + AHEAD_MS));
  const endings = {
    complete: ['SUCCESS'],
    fail: ['FAILED', 'Dormant beneficiary account'],
    return: ['REVERSED'],
  } as const;
  return {
    rail: instrumentedRail(impatient(rail)),
    sendsAgain: true,
    secrets: [fake.credentials.apiKey, fake.credentials.secretKey, 'eyJ'],
    callBackAt: (url) => {
      fake.callbackUrl = url;
    },
    pay: async (accountNumber, amount) => {
      const paid = await fake.pay(accountNumber, BigInt(amount));
      if (typeof paid === 'string') throw new Error(`the payment was ${paid}`);
    },
    breakSend: (fault, acts) => fake.break('POST /api/v2/disbursements/single', fault, { acts }),
    references: () => [...fake.book.transfers.keys()],
    end: async (reference, outcome) => {
      const [status, comment] = endings[outcome];
      await fake.end(reference, status, comment);
    },
    paidTwice: () =>
      fake.book.transfers
        .values()
        .filter(({ timesPaid }) => timesPaid > 1)
        .map(({ reference }) => reference)
        .toArray(),
    timesPaid: (reference) => fake.book.transfers.get(reference)?.timesPaid ?? 0,
    settle: () => fake.settle(),
    holds: () => fake.book.balance + fake.book.collected - start,
    close: async () => {
      await rail.close();
      await fake.close();
      return fake.complaints;
    },
  };
}

async function startNomba(): Promise<RailWorld> {
  const fake = await new NombaFake().start();
  const start = fake.balance;
  const rail = createNombaRail(fake.credentials);
  return {
    rail: instrumentedRail(rail),
    sendsAgain: false,
    secrets: [fake.credentials.clientSecret, fake.credentials.signatureKey, 'eyJ'],
    callBackAt: (url) => {
      fake.callbackUrl = url;
    },
    pay: (accountNumber, amount) => {
      if (fake.pay(accountNumber, BigInt(amount)) === null) throw new Error('the payment was sent back');
      return Promise.resolve();
    },
    breakSend: (fault, acts) => fake.break('POST /v2/transfers/bank', fault, acts),
    references: () => fake.rows.flatMap(({ merchantTxRef }) => merchantTxRef ?? []),
    end: (reference, outcome) => {
      fake.end(reference, outcome === 'complete' ? 'SUCCESS' : 'REFUND');
      return Promise.resolve();
    },
    paidTwice: () =>
      fake.rows.filter(({ timesPaid }) => timesPaid > 1).flatMap(({ merchantTxRef }) => merchantTxRef ?? []),
    timesPaid: (reference) => fake.transferOf(reference)?.timesPaid ?? 0,
    settle: () => Promise.resolve(),
    holds: () => fake.balance - start,
    close: async () => {
      await rail.close();
      await fake.close();
      return fake.complaints;
    },
  };
}

export const RAIL_WORLDS: readonly (readonly [string, () => Promise<RailWorld>])[] = [
  ['monnify', startMonnify],
  ['nomba', startNomba],
];
