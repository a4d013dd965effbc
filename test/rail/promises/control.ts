// What promises share that only a fake of a provider can put to the test: control of the provider.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import type { Kobo } from '../../../src/money.ts';
import { type NotReadyCause, RailCallError } from '../../../src/rail/errors.ts';
import type {
  AccountRequest,
  CallbackRequest,
  OpenedAccount,
  TransferInstruction,
  TransferReport,
} from '../../../src/rail/port.ts';
import type { Destination, RailHarness } from '../../../src/rail/promises/harness.ts';
import { type Finding, pass } from '../../../src/rail/promises/promise.ts';
import { instructionTo, type Kind, ODD_AMOUNT } from '../../../src/rail/promises/requests.ts';

export const KINDS: readonly Kind[] = ['one_off', 'permanent'];

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
  noAccount: Destination;
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

export type SentCallback = Pick<CallbackRequest, 'headers' | 'body'>;

export interface ControlledHarness extends RailHarness {
  control: ProviderControl;
  /** What arrived at the callback address so far. */
  callbacks: () => readonly SentCallback[];
}

/** A promise as the tests of an adapter try it. */
export interface TriedPromise {
  id: string;
  run: (harness: ControlledHarness) => Promise<Finding>;
}

/** A promise that only a fake of the provider can put to the test. It holds unless `run` throws. */
export const underControl = (
  id: string,
  promised: string,
  run: (harness: ControlledHarness) => Promise<void>,
): TriedPromise => ({
  id,
  run: async (harness) => {
    await run(harness);
    return pass(promised);
  },
});

/** What the account was opened for; one of a wallet accepts any. */
export const amountOf = (request: AccountRequest): Kobo => (request.kind === 'one_off' ? request.amount : ODD_AMOUNT);

/** To an account that no earlier transfer went to. */
export const instruct = async (
  harness: ControlledHarness,
  more?: Partial<TransferInstruction>,
): Promise<TransferInstruction> => instructionTo(harness, await harness.control.newDestination(), more);

const POLL_EVERY_MS = 20;
const WAIT_MAX_MS = 60_000;

/** Polls until the result is neither null nor false. */
export async function until<Found>(
  { pause }: Pick<RailHarness, 'pause'>,
  what: string,
  look: () => Promise<Found | null | false> | Found | null | false,
): Promise<Found> {
  const startedAt = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found;
    assert.ok(performance.now() - startedAt < WAIT_MAX_MS, `timed out waiting for ${what}`);
    await pause(POLL_EVERY_MS);
  }
}

/** The call must fail with this error of the port, and its error must have no secret in it. */
export async function fails(
  { control }: ControlledHarness,
  name: RailCallError['name'],
  call: Promise<unknown>,
): Promise<RailCallError> {
  const error = await call.then(
    (result) => assert.fail(`the call must fail with ${name}, but returned ${inspect(result)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RailCallError, `the call must fail with ${name}, but threw ${inspect(error)}`);
  assert.equal(error.name, name);
  const text = inspect(error, { depth: 20, showHidden: true });
  for (const secret of control.secrets) assert.ok(!text.includes(secret), 'the error has a secret in it');
  return error;
}

export const statusOf = ({ rail, organisationId }: RailHarness, reference: string): Promise<TransferReport | null> =>
  rail.transferStatus({ organisationId, reference });

export const untilStatus = (
  harness: RailHarness,
  reference: string,
  ...statuses: TransferReport['status'][]
): Promise<TransferReport> =>
  until(harness, `${reference} to be ${statuses.join(' or ')}`, async () => {
    const report = await statusOf(harness, reference);
    return report !== null && statuses.includes(report.status) && report;
  });
