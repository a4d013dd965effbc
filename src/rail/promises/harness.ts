// What promises are tried with: a rail, and what an operator allows and brings.
import { setTimeout as delay } from 'node:timers/promises';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { Exchange } from '../exchanges.ts';
import type {
  BankRail,
  InboundCreditReport,
  Period,
  TransferInstruction,
  TransferReport,
  VirtualAccount,
} from '../port.ts';
import type { ClosableRail, Credentials, ProviderContract, RailProvider } from '../provider.ts';

/** All transfers that an operator's money pays, together: 200 naira. */
export const MONEY_MAX: Kobo = 20_000;

export type Destination = Pick<TransferInstruction, 'accountNumber' | 'bankCode'>;

/** A person who pays into account numbers. */
export interface Payer {
  waitMs: number;
  ask: (amount: Kobo, account: VirtualAccount) => void;
}

export interface HarnessOptions {
  /** Whether transfers may be sent. */
  movesMoney: boolean;
  /** The account that transfers go to, of the operator's own; null: none was named. */
  to: Destination | null;
  /** An account that does not exist, for a fake that knows any other. */
  noAccount?: Destination;
  /** Of a person who agreed, for an account number of a wallet; null: it is not tried. */
  bvn: string | null;
  /** Null: no one will pay. */
  payer: Payer | null;
}

/** The first transfer of a run, which several promises look at. */
export interface FirstSend {
  instruction: TransferInstruction;
  /** What could be paid out before. */
  balanceBefore: Kobo | null;
  /** The response to the send, or its error. */
  sent: TransferReport | Error;
  last: TransferReport | null;
  /** How long after the send its status was found; null: it never was. */
  visibleAfterMs: number | null;
}

/** What was done, for later promises. */
export interface Facts {
  credits: (InboundCreditReport & { asked: Kobo })[];
  firstSend: FirstSend | null;
  /** Transfers that the rail reported as paid. */
  paid: TransferInstruction[];
}

export interface HarnessContract {
  provider: RailProvider;
  credentials: Credentials;
  /** Another rail of the contract, as another process has it, or one with other credentials. */
  openRail: (credentials?: Credentials) => BankRail;
}

/** Time, for tests. */
export interface Clock {
  now: () => Date;
  pause: (ms: number) => Promise<void>;
}

export interface RailHarness extends HarnessOptions, Clock {
  rail: BankRail;
  organisationId: Uuid;
  /** Null: the rail needs none, as the sandbox bank. */
  contract: HarnessContract | null;
  /** Whether real money can move. */
  isLive: boolean;
  newReference: () => string;
  /** A new time limit of a call. */
  limit: () => AbortSignal;
  /** Sends a transfer, unless all transfers together would be more than `MONEY_MAX`. */
  send: (instruction: TransferInstruction) => Promise<TransferReport>;
  /** `check`: the promise that was tried. */
  exchanges: (Exchange & { check: string })[];
  startedAt: Date;
  facts: Facts;
}

const REAL_CLOCK: Clock = { now: () => new Date(), pause: (ms) => delay(ms) };

export function createHarness(
  subject: Pick<RailHarness, 'rail' | 'organisationId' | 'contract' | 'isLive'>,
  options: HarnessOptions,
  clock: Clock = REAL_CLOCK,
): RailHarness {
  const { rail } = subject;
  const limit = (): AbortSignal => AbortSignal.timeout(rail.capabilities.calls.limitMs);
  const spent = new Map<string, Kobo>();
  return {
    ...subject,
    ...options,
    ...clock,
    limit,
    newReference: () => publicId('railCheck', newUuid()),
    async send(instruction) {
      spent.set(instruction.reference, instruction.amount);
      const total = [...spent.values()].reduce((sum, amount) => sum + amount, 0);
      if (!options.movesMoney || total > MONEY_MAX) throw new Error('the transfers of a check would be too much money');
      return await rail.sendTransfer(instruction, limit());
    },
    exchanges: [],
    startedAt: clock.now(),
    facts: { credits: [], firstSend: null, paid: [] },
  };
}

/** Looks until it is true, or time is up. Returns what it was at last. */
export async function poll(
  { now, pause }: Clock,
  everyMs: number,
  withinMs: number,
  look: () => Promise<boolean> | boolean,
): Promise<boolean> {
  const endsAt = now().getTime() + withinMs;
  for (;;) {
    const isSeen = await look();
    if (isSeen || now().getTime() >= endsAt) return isSeen;
    await pause(everyMs);
  }
}

/** From the start of the run until now. */
export const runSoFar = ({ startedAt, now }: RailHarness): Period => ({
  from: new Date(startedAt.getTime() - 60_000),
  to: new Date(now().getTime() + 60_000),
});

/** The same for a contract with a provider. `close` closes its connections. */
export function createContractHarness(
  provider: RailProvider,
  contract: ProviderContract,
  options: HarnessOptions,
  clock?: Clock,
): RailHarness & { close: () => Promise<void> } {
  const opened: ClosableRail[] = [];
  const { credentials, organisationId } = contract;
  const openRail = (given = credentials): ClosableRail => {
    const rail = provider.open({ ...contract, credentials: given });
    opened.push(rail);
    return rail;
  };
  const subject = {
    rail: openRail(),
    organisationId,
    contract: { provider, credentials, openRail },
    isLive: !provider.isSandbox(credentials),
  };
  return {
    ...createHarness(subject, options, clock),
    close: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
