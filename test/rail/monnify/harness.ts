// The Monnify adapter over the fake, with one clock for both. A request that the adapter must never send fails the
// test at its end.
import { inspect } from 'node:util';
import { expect } from '@jest/globals';
import { MonnifyFake } from '../../../dev/monnify/fake.ts';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { newUuid, publicId } from '../../../src/ids.ts';
import { createMonnifyRail } from '../../../src/rail/monnify/rail.ts';
import type { AccountRequest, TransferInstruction } from '../../../src/rail/port.ts';
import type { ClosableRail } from '../../../src/rail/provider.ts';
import { waitFor } from '../../support/waitFor.ts';

export const ORGANISATION = newUuid();
export const BVN = '22222222226';

export interface MonnifyHarness {
  rail: ClosableRail;
  fake: MonnifyFake;
  now: () => Date;
  /** Moves the clock of both sides. */
  pass: (ms: number) => void;
  /** Another process with the same contract. */
  openRail: () => ClosableRail;
  close: () => Promise<void>;
}

export async function startMonnify(options: { balance?: bigint } = {}): Promise<MonnifyHarness> {
  let now = Math.ceil(Date.now() / 1_000) * 1_000; // that of the references, whose ids have their time
  const clock = (): Date => new Date(now);
  const fake = await new MonnifyFake({ now: clock, ...options }).start();
  const rails: ClosableRail[] = [];
  const openRail = (): ClosableRail => {
    const rail = createMonnifyRail(fake.credentials, clock);
    rails.push(rail);
    return rail;
  };
  return {
    rail: openRail(),
    fake,
    now: clock,
    pass: (ms) => {
      now += ms;
    },
    openRail,
    close: async () => {
      await Promise.all(rails.map((rail) => rail.close()));
      await fake.close();
      expect(fake.complaints).toEqual([]);
    },
  };
}

const HOLDER = { name: 'Ada Obi', email: 'ada@example.com', bvn: null };

export const oneOff = (
  now: Date,
  more: Partial<Extract<AccountRequest, { kind: 'one_off' }>> = {},
): Extract<AccountRequest, { kind: 'one_off' }> => ({
  kind: 'one_off',
  organisationId: ORGANISATION,
  reference: publicId('payment', newUuid()),
  holder: HOLDER,
  amount: 202_037,
  expiresAt: new Date(now.getTime() + 1_800_000),
  ...more,
});

export const permanent = (reference = publicId('wallet', newUuid())): AccountRequest => ({
  kind: 'permanent',
  organisationId: ORGANISATION,
  reference,
  holder: { ...HOLDER, name: 'ADA OBI', bvn: BVN },
});

let lastAccount = 1_200_000_000;

/** To an account that completes transfers, and that no other test uses. */
export function instruct(more: Partial<TransferInstruction> = {}): TransferInstruction {
  lastAccount += 1;
  return {
    organisationId: ORGANISATION,
    reference: publicId('withdrawal', newUuid()),
    amount: 250_037,
    accountNumber: String(lastAccount),
    bankCode: '058',
    accountName: null,
    narration: 'Rent',
    ...more,
  };
}

/** The service aborts a call after its time limit; here, as soon as the provider has the next request of this route. */
export function onceAsked({ requests }: MonnifyFake, route: string): AbortSignal {
  const controller = new AbortController();
  const asked = (): number => requests.filter((one) => one === route).length;
  const before = asked();
  waitFor(`${route} to be asked`, () => asked() > before).then(
    () => controller.abort(new DOMException('the time limit is over', 'TimeoutError')),
    (error: unknown) => controller.abort(error),
  );
  return controller.signal;
}

const SECRETS = new RegExp(
  [FAKE_CREDENTIALS.secretKey, FAKE_CREDENTIALS.apiKey, 'eyJhbGciOiJSUzI1NiIs', BVN, 'Basic [A-Za-z0-9]'].join('|'),
);

/** The error of a call, which must not have a secret anywhere in it. */
export async function failureOf(work: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const error = await work.then(
    (result) => {
      throw new Error(`no failure, but ${inspect(result)}`);
    },
    (thrown: unknown) => thrown,
  );
  expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(SECRETS);
  return error as Error & Record<string, unknown>;
}

/** Expects a call to fail with this error. */
export async function expectFailure(work: Promise<unknown>, name: string, more: object = {}): Promise<void> {
  expect(await failureOf(work)).toMatchObject({ name, ...more });
}
