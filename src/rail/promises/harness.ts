// What promises are tried with: a rail, what an operator allows and brings, and, of a fake, control of the provider.
import { setTimeout as delay } from 'node:timers/promises';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { NotReadyCause } from '../errors.ts';
import type { Exchange } from '../exchanges.ts';
import type {
  AccountRequest,
  BankRail,
  CallbackRequest,
  InboundCreditReport,
  OpenedAccount,
  Period,
  TransferInstruction,
  TransferReport,
  VirtualAccount,
} from '../port.ts';
import type { ClosableRail, Credentials, ProviderContract, RailProvider } from '../provider.ts';

/** All transfers that an operator's money pays, together: 200 naira. */
export const MONEY_MAX: Kobo = 20_000;

export type SentCallback = Pick<CallbackRequest, 'headers' | 'body'>;

export interface Destination {
  accountNumber: string;
  bankCode: string;
}

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
  /** Of a person who agreed, for an account number of a wallet; null: it is not tried. */
  bvn: string | null;
  /** Null: no one will pay. */
  payer: Payer | null;
  /** What arrived at the callback address so far; null: nothing listens there. */
  callbacks: (() => readonly SentCallback[]) | null;
}

/** An answer of a provider that is no status, and what it means. */
export interface ProviderAnswer {
  to: 'send' | 'status';
  /** `refused`, `exists`: of a send. `absent`: it has no such transfer. `unclear`: nothing follows from it. */
  means: 'refused' | 'exists' | 'absent' | 'unclear';
  words: string;
  /** Given to the next request. `acts`: the send is accepted all the same, and shown once the result is called. */
  give: (acts: boolean) => () => void;
}

/** What a fake does to the lists of the provider. */
export interface ListControl {
  /** The statuses of a credit that say that its money came, and the one that says that it left again. */
  came: readonly string[];
  takenBack: string;
  setStatus: (sessionId: string, status: string) => void;
  /** Fields of the row of a credit that are replaced; undefined: the field is missing. */
  alter: (sessionId: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Fields that make a row one that is not understood: unreadable, of another time than was asked for. */
  unreadable: readonly Readonly<Record<string, unknown>>[];
  /** Each page begins with the last row of the page before. */
  overlap: (on: boolean) => void;
  /** Every page is the first one, and another follows. */
  loop: (on: boolean) => void;
}

/** What a fake does besides: as customers, as the receiving banks, and as a network that loses what it carries. */
export interface ProviderControl {
  /** An account that exists, and that no earlier transfer went to. The balance suffices for `AMOUNT_MAX` there. */
  newDestination: () => Promise<Destination>;
  /** An account that does not exist. */
  noDestination: Destination;
  /** A customer pays into an account number. Returns the credit's `sessionId`; null: the money was sent back. */
  payIn: (accountNumber: string, amount: Kobo) => Promise<string | null>;
  /** Of a rail that lists both directions alike: money leaves by a number of ours. Returns the session. */
  payOut?: (accountNumber: string, amount: Kobo) => Promise<string>;
  lists?: ListControl;
  /** Of a rail whose signature covers some fields of a JSON body (`signed: 'fields'`): the paths of these fields. */
  signedFields?: readonly string[];
  /** Whether a callback names its contract, so that one of another contract is refused whatever it is signed with. */
  namesContract: boolean;
  /**
   * A callback of another contract with the provider, which reports money that was paid to that contract as if it were
   * paid into this account of ours. `secret`: signed with the secret of that contract, or with ours, which contracts of
   * one merchant may share.
   */
  callbackOfAnother: (
    secret: 'its_own' | 'ours',
    account: Pick<OpenedAccount, 'reference' | 'accountNumber'>,
  ) => Promise<SentCallback>;
  /** Sends so that the request or the response is lost. Must reject with RailUnavailableError. */
  sendLosing: (what: 'request' | 'response', instruction: TransferInstruction) => Promise<unknown>;
  /**
   * For each cause that the provider may have: sends the instruction while the provider does not accept it for that
   * cause, which is over when the promise settles. Must reject with RailNotReadyError.
   */
  sendNotReady: Partial<Record<NotReadyCause, (instruction: TransferInstruction) => Promise<unknown>>>;
  /** Whether logins fail, so that nothing can be sent; undefined: the rail has none. */
  failLogins?: (fail: boolean) => void;
  /** Each documented answer to a send or a query that is no status; undefined: the provider has none. */
  answers?: readonly ProviderAnswer[];
  /** Opens an account number so that the response is lost. */
  openLosing: (request: AccountRequest) => Promise<unknown>;
  /** The end of a transfer at the receiving bank. Resolves when the rail may report it. */
  end: (reference: string, outcome: 'complete' | 'fail' | 'return') => Promise<void>;
  /** How often the provider has paid the transfer. */
  timesPaid: (reference: string) => Promise<number>;
  /** Credentials and tokens, which must appear in no error. */
  secrets: readonly string[];
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
  /** Null: it is a real provider. */
  control: ProviderControl | null;
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
  control: ProviderControl | null = null,
): RailHarness {
  const { rail } = subject;
  const limit = (): AbortSignal => AbortSignal.timeout(rail.capabilities.calls.limitMs);
  const spent = new Map<string, Kobo>();
  return {
    ...subject,
    ...options,
    ...clock,
    control,
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
  control?: ProviderControl,
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
    ...createHarness(subject, options, clock, control),
    close: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
