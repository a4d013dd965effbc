// What the conformance suite needs of a provider besides its rail: to act as its customers and as the receiving banks,
// to lose requests and responses, and to count what was paid.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';
import { type NotReadyCause, RailCallError, RailNotReadyError } from '../errors.ts';
import type { AccountRequest, BankRail, CallbackRequest, OpenedAccount, TransferInstruction } from '../port.ts';

export interface RailBench {
  rail: BankRail;
  organisationId: Uuid;
  /** The provider's time. */
  now: () => Date;
  /** A reference that was not used before, as the service makes them (src/ids.ts). */
  newReference: () => string;
  /** An account that exists, and that no earlier transfer went to. The balance suffices for `AMOUNT_MAX` there. */
  newDestination: () => Promise<Destination>;
  /** An account that does not exist. */
  noDestination: Destination;
  /** A customer pays into an account number. Returns the credit's `sessionId`; null: the money was sent back. */
  payIn: (accountNumber: string, amount: Kobo) => Promise<string | null>;
  /** All callbacks that the provider has sent, as they arrive. */
  callbacks: () => readonly SentCallback[];
  /** Of a rail whose signature covers some fields of a JSON body (`signed: 'fields'`): the paths of these fields. */
  signedFields?: readonly string[];
  /** Whether a callback names its contract, so that one of another contract is refused whatever it is signed with. */
  namesContract: boolean;
  /**
   * A callback of another contract with the provider, which tells of money that was paid to that contract as if it were
   * paid into this account of ours. `secret`: signed with the secret of that contract, or with ours, which contracts of
   * one merchant may share.
   */
  callbackOfAnother: (
    secret: 'its_own' | 'ours',
    account: Pick<OpenedAccount, 'reference' | 'accountNumber'>,
  ) => Promise<SentCallback>;
  /**
   * Sends the instruction so that the request or the response is lost, for example with an aborted signal or to an
   * account that does this. Must reject with RailUnavailableError.
   */
  sendLosing: (what: 'request' | 'response', instruction: TransferInstruction) => Promise<unknown>;
  /**
   * For each cause that the provider may have: sends the instruction while the provider does not accept it for that
   * cause, which is over when the promise settles. Must reject with RailNotReadyError.
   */
  sendNotReady: Partial<Record<NotReadyCause, (instruction: TransferInstruction) => Promise<unknown>>>;
  /** Opens an account number so that the response is lost. */
  openLosing: (request: AccountRequest) => Promise<unknown>;
  /** The end of a transfer at the receiving bank. Resolves when the rail may report it. */
  end: (reference: string, outcome: 'complete' | 'fail' | 'return') => Promise<void>;
  /** How often the provider has paid the transfer. */
  timesPaid: (reference: string) => Promise<number>;
  /** Credentials and tokens, which must appear in no error. */
  secrets: readonly string[];
}

/** A callback as the provider sent it. */
export type SentCallback = Pick<CallbackRequest, 'headers' | 'body'>;

export interface Destination {
  accountNumber: string;
  bankCode: string;
}

/** One promise of the port. Throws when it is broken. */
export interface RailPromise {
  title: string;
  check: (bench: RailBench) => Promise<void>;
}

export type PromisesOf = (capabilities: RailCapabilities) => RailPromise[];

const WAIT_MAX_MS = 60_000;

/** Polls until the result is neither null nor false. */
export async function until<Found>(what: string, look: () => Promise<Found | null | false>): Promise<Found> {
  const startedAt = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found;
    assert.ok(performance.now() - startedAt < WAIT_MAX_MS, `timed out waiting for ${what}`);
    await delay(20);
  }
}

/** The call must fail with this error of the port, and its error must have no secret in it. */
export async function fails(bench: RailBench, name: RailCallError['name'], call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    (result) => assert.fail(`the call must fail with ${name}, but returned ${inspect(result)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RailCallError, `the call must fail with ${name}, but threw ${inspect(error)}`);
  assert.equal(error.name, name);
  const text = inspect(error, { depth: 20, showHidden: true });
  for (const secret of bench.secrets) assert.ok(!text.includes(secret), 'the error has a secret in it');
  return error;
}

/** The call must fail because the rail is not ready, for this cause. */
export async function failsFor(bench: RailBench, cause: NotReadyCause, call: Promise<unknown>): Promise<void> {
  const error = await fails(bench, 'RailNotReadyError', call);
  assert.ok(error instanceof RailNotReadyError && error.why === cause, `the cause must be ${cause}: ${inspect(error)}`);
}

export const instructionTo = (
  bench: RailBench,
  destination: Destination,
  more: Partial<TransferInstruction> = {},
): TransferInstruction => ({
  organisationId: bench.organisationId,
  reference: bench.newReference(),
  amount: 250_037,
  accountName: null,
  narration: 'Conformance',
  ...destination,
  ...more,
});

const holder = { name: 'Ada Obi', email: 'ada@example.com', phone: '+2348012345678', dateOfBirth: '1990-05-17' };
/** Not the number of a person. */
const IDENTITY_NUMBER = '22222222226';

export function accountRequest(
  bench: RailBench,
  kind: AccountRequest['kind'],
  { amount = 202_037, lifeMs = 1_800_000 }: { amount?: Kobo; lifeMs?: number } = {},
): AccountRequest {
  const needsNumber = bench.rail.capabilities.permanent?.needs.includes('bvn_or_nin') === true && kind === 'permanent';
  const common = {
    organisationId: bench.organisationId,
    reference: bench.newReference(),
    accountName: 'Ada Obi',
    holder: { ...holder, bvn: needsNumber ? IDENTITY_NUMBER : null, nin: null },
    description: 'Conformance',
  };
  return kind === 'permanent'
    ? { ...common, kind }
    : { ...common, kind, amount, expiresAt: new Date(bench.now().getTime() + lifeMs) };
}

export const kindsOf = ({ oneOff, permanent }: RailCapabilities): AccountRequest['kind'][] => [
  ...(oneOff === null ? [] : ['one_off' as const]),
  ...(permanent === null ? [] : ['permanent' as const]),
];
