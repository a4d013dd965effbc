// What the checks of a contract work with: its rail, what the operator allows, and what earlier checks found.
import { setTimeout as delay } from 'node:timers/promises';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { Exchange } from '../exchanges.ts';
import type {
  BankRail,
  CallbackRequest,
  InboundCreditReport,
  RailBalance,
  TransferInstruction,
  TransferReport,
} from '../port.ts';
import type { ContractRail, Credentials, RailContract, RailProvider } from '../provider.ts';

/** All transfers of one run together: 200 naira. */
export const MONEY_MAX: Kobo = 20_000;

/** What the operator of a run allows and brings. */
export interface CheckOptions {
  /** Whether transfers may be sent. */
  movesMoney: boolean;
  /** The account that transfers go to, of the operator's own; null: none was named. */
  to: { accountNumber: string; bankCode: string } | null;
  /** Of a person who agreed, for an account number of a wallet; null: it is not tried. */
  bvn: string | null;
  /** How long to wait for somebody to pay into account numbers; null: nobody will. */
  creditWaitMs: number | null;
  /** What arrived at the callback address so far; null: nothing listens there. */
  callbacks: (() => readonly Pick<CallbackRequest, 'headers' | 'body'>[]) | null;
  /** Tells the operator what to do meanwhile. */
  tell: (line: string) => void;
}

/** The first transfer of a run, which several checks look at. */
export interface FirstSend {
  instruction: TransferInstruction;
  /** What could be paid out before. */
  balanceBefore: RailBalance | null;
  /** The requests of the send. */
  exchanges: Exchange[];
  /** The response to the send, or its error. */
  sent: TransferReport | Error;
  /** The last status that was read. */
  last: TransferReport | null;
  /** How long after the send its status was found; null: it never was. */
  visibleAfterMs: number | null;
}

/** What checks found, for later ones. */
export interface Facts {
  credits: (InboundCreditReport & { asked: Kobo })[];
  firstSend: FirstSend | null;
  /** Transfers that the rail reported as paid. */
  paid: TransferInstruction[];
}

export interface CheckBench extends CheckOptions {
  provider: RailProvider;
  rail: BankRail;
  organisationId: Uuid;
  credentials: Credentials;
  /** Whether real money can move. */
  isLive: boolean;
  /** Another rail of the contract, as another process has it, or one with other credentials. */
  openRail: (credentials?: Credentials) => BankRail;
  newReference: () => string;
  now: () => Date;
  pause: (ms: number) => Promise<void>;
  /** A new time limit of a call. */
  limit: () => AbortSignal;
  /** Sends a transfer, unless all transfers together would be more than `MONEY_MAX`. */
  send: (instruction: TransferInstruction) => Promise<TransferReport>;
  exchanges: Exchange[];
  startedAt: Date;
  facts: Facts;
  close: () => Promise<void>;
}

/** Time, for tests. */
export interface CheckClock {
  now: () => Date;
  pause: (ms: number) => Promise<void>;
}

const REAL_CLOCK: CheckClock = { now: () => new Date(), pause: (ms) => delay(ms) };

export function createBench(
  provider: RailProvider,
  contract: RailContract,
  options: CheckOptions,
  clock: CheckClock = REAL_CLOCK,
): CheckBench {
  const opened: ContractRail[] = [];
  const openRail = (credentials = contract.credentials): ContractRail => {
    const rail = provider.open({ ...contract, credentials });
    opened.push(rail);
    return rail;
  };
  const rail = openRail();
  const limit = (): AbortSignal => AbortSignal.timeout(rail.capabilities.calls.limitMs);
  const spent = new Map<string, Kobo>();
  return {
    ...options,
    ...clock,
    provider,
    rail,
    openRail,
    limit,
    organisationId: contract.organisationId,
    credentials: contract.credentials,
    isLive: !provider.isSandbox(contract.credentials),
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
    close: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
