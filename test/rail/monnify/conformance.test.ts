// The Monnify adapter keeps every promise of the rail port.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { UNKNOWN_ACCOUNT } from '../../../dev/monnify/destinations.ts';
import { collectionEvent, signEvent } from '../../../dev/monnify/events.ts';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { newUuid, publicId } from '../../../src/ids.ts';
import { AMOUNT_MAX } from '../../../src/money.ts';
import { DUPLICATE_GUARD_MS } from '../../../src/rail/monnify/outcomes.ts';
import { createMonnifyRail, monnify as provider } from '../../../src/rail/monnify/rail.ts';
import { createContractHarness } from '../../../src/rail/promises/harness.ts';
import type { Credentials } from '../../../src/rail/provider.ts';
import type { ControlledHarness, ProviderAnswer, ProviderControl } from '../promises/control.ts';
import { findBroken, optionsOf, PROMISES } from '../promises/promises.ts';
import { BVN, instruct, type MonnifyHarness, ORGANISATION, startMonnify } from './harness.ts';

let monnify: MonnifyHarness;
let harness: ControlledHarness & { close: () => Promise<void> };

beforeAll(async () => {
  // Enough for the largest amounts, and few enough kobo for a balance that can be read.
  monnify = await startMonnify({ balance: 10n * BigInt(AMOUNT_MAX) });
  const { fake, now, pass } = monnify;
  const control = controlOf(monnify);
  const open = (credentials: Credentials) => createMonnifyRail(credentials as typeof fake.credentials, now);
  const contract = { id: newUuid(), organisationId: ORGANISATION, environment: 'live' as const };
  const pause = async (ms: number): Promise<void> => pass(ms);
  const controlled = createContractHarness(
    { ...provider, open: ({ credentials }) => open(credentials) },
    { ...contract, credentials: fake.credentials },
    await optionsOf(control, BVN),
    { now, pause },
  );
  harness = { ...controlled, control, callbacks: () => fake.events };
});

afterAll(() => Promise.all([harness.close(), monnify.close()]));

const SEND = 'POST /api/v2/disbursements/single';

const LOGIN = 'POST /api/v1/auth/login';
const SUMMARY = 'GET /api/v2/disbursements/single/summary';

type Means = ProviderAnswer['means'];
const SENT: readonly [Means, number, string, string][] = [
  ['refused', 422, 'D01', 'Something went wrong and transaction could not be processed'],
  ['refused', 422, 'D03', 'Invalid account details supplied'],
  ['refused', 422, 'D01', 'success'],
  ['exists', 422, 'D05', 'Supplied reference already exists!'],
  ['unclear', 400, '99', 'An unexpected error occurred while processing transaction'],
  ['unclear', 500, '99', 'System error'],
];
const ASKED: readonly [Means, number, string, string][] = [
  ['absent', 404, 'D02', 'Could not find disbursement transaction for given reference'],
  ['absent', 200, 'D02', 'Transaction does not exist.'],
  ['unclear', 400, '99', 'An unexpected error occurred while processing transaction'],
  ['unclear', 404, '99', 'Not Found'],
  ['unclear', 500, 'D02', 'Transaction does not exist.'],
];

const ENDINGS = {
  complete: ['SUCCESS'],
  fail: ['FAILED', 'Dormant beneficiary account'],
  return: ['REVERSED', 'Transaction in progress'],
} as const;

const controlOf = ({ rail, fake, now, pass }: MonnifyHarness): ProviderControl => ({
  newDestination: () => Promise.resolve({ accountNumber: instruct().accountNumber, bankCode: '058' }),
  noAccount: { accountNumber: UNKNOWN_ACCOUNT, bankCode: '058' },
  payIn: async (accountNumber, amount) => {
    const paid = await fake.pay(accountNumber, BigInt(amount));
    return typeof paid === 'string' ? null : paid.transactionReference;
  },
  lists: {
    came: ['PAID', 'PARTIALLY_PAID', 'OVERPAID'],
    takenBack: 'REVERSED',
    unreadable: [{ currencyCode: 'USD' }, { completedOn: '2019-11-22T09:30:00.000+0000' }],
    setStatus: (sessionId, status) => {
      const collection = fake.book.collections.get(sessionId);
      if (collection !== undefined) collection.status = status;
    },
    alter: (sessionId, fields) => fake.lists.rows.set(sessionId, fields),
    overlap: (on) => {
      fake.lists.overlaps = on;
    },
    loop: (on) => {
      fake.lists.loops = on;
    },
  },
  namesContract: false,
  callbackOfAnother: async (secret, { reference, accountNumber }) => {
    const credit = await fake.collect({
      transactionReference: fake.book.newReference('MNFY'),
      productType: 'INVOICE',
      productReference: 'another-contract-1',
      accountNumber: '6899999999',
      amount: 202_037n,
      payer: { name: 'CHIDI EZE', accountNumber: '0065432190', bankCode: '000014' },
      createdAt: now(),
    });
    const lie = collectionEvent({ ...credit, productReference: reference, accountNumber });
    return signEvent(lie, secret === 'ours' ? FAKE_CREDENTIALS.secretKey : 'the secret of another merchant');
  },
  sendLosing: (what, instruction) => {
    fake.break(SEND, 'reset', { acts: what === 'response' });
    return rail.sendTransfer(instruction);
  },
  sendNotReady: {
    underfunded: async (instruction) => {
      const { balance } = fake.book;
      fake.book.balance = 0n;
      try {
        return await rail.sendTransfer(instruction);
      } finally {
        fake.book.balance = balance;
      }
    },
    duplicate_guard: async (instruction) => {
      await rail.sendTransfer({ ...instruction, reference: publicId('withdrawal', newUuid()) });
      try {
        return await rail.sendTransfer(instruction);
      } finally {
        pass(DUPLICATE_GUARD_MS);
      }
    },
    rate_limited: (instruction) => {
      fake.break(SEND, 'rate_limited');
      return rail.sendTransfer(instruction);
    },
    unauthorised: (instruction) => {
      fake.break(SEND, 'expired_token', { times: 2 });
      return rail.sendTransfer(instruction);
    },
    feature_off: (instruction) => {
      fake.break(SEND, 'spring_403');
      return rail.sendTransfer(instruction);
    },
  },
  failLogins: (fail) => {
    if (fail) fake.break(LOGIN, 'html_502');
    else fake.mend(LOGIN);
  },
  answers: [
    ...SENT.map(([means, status, code, message]) => ({
      to: 'send' as const,
      means,
      words: `${code} ${message}`,
      give: (acts: boolean) => {
        fake.hiddenFor = Number.POSITIVE_INFINITY;
        fake.refuse(SEND, status, code, message, acts);
        return () => {
          fake.hiddenFor = 0;
          for (const transfer of fake.book.transfers.values()) transfer.hiddenFor = 0;
        };
      },
    })),
    ...ASKED.map(([means, status, code, message]) => ({
      to: 'status' as const,
      means,
      words: `${code} ${message}`,
      give: () => {
        fake.refuse(SUMMARY, status, code, message);
        return () => {};
      },
    })),
  ],
  openLosing: (request) => {
    const route =
      request.kind === 'one_off' ? 'POST /api/v1/invoice/create' : 'POST /api/v2/bank-transfer/reserved-accounts';
    fake.break(route, 'reset', { acts: true });
    return rail.openVirtualAccount(request);
  },
  end: async (reference, outcome) => {
    const [status, comment] = ENDINGS[outcome];
    await fake.end(reference, status, comment);
    pass(60_000); // a failure is believed after a minute
  },
  timesPaid: (reference) => Promise.resolve(fake.book.transfers.get(reference)?.timesPaid ?? 0),
  secrets: [FAKE_CREDENTIALS.secretKey, FAKE_CREDENTIALS.apiKey, 'eyJhbGciOiJSUzI1NiIs', BVN],
});

test.each(PROMISES.map((promise) => [promise.id, promise] as const))('%s', async (_, promise) => {
  expect(await findBroken(promise, harness)).toBeNull();
  expect(monnify.fake.complaints).toEqual([]);
});
