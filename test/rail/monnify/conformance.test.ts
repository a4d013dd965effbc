// The Monnify adapter keeps every promise of the rail port.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { UNKNOWN_ACCOUNT } from '../../../dev/monnify/destinations.ts';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { newUuid, publicId } from '../../../src/ids.ts';
import { type RailBench, railPromises } from '../../../src/rail/conformance.ts';
import { CAPABILITIES } from '../../../src/rail/monnify/rail.ts';
import { type Bench, BVN, instruct, ORGANISATION, startBench } from './bench.ts';

let monnify: Bench;
let bench: RailBench;

beforeAll(async () => {
  monnify = await startBench();
  bench = benchOf(monnify);
});

afterAll(async () => {
  await monnify.close();
});

const ENDINGS = {
  complete: ['SUCCESS'],
  fail: ['FAILED', 'Dormant beneficiary account'],
  return: ['REVERSED'],
} as const;

const benchOf = ({ rail, fake, now, pass }: Bench): RailBench => ({
  rail,
  organisationId: ORGANISATION,
  now,
  newReference: () => publicId('withdrawal', newUuid()),
  newDestination: () => Promise.resolve({ accountNumber: instruct().accountNumber, bankCode: '058' }),
  noDestination: { accountNumber: UNKNOWN_ACCOUNT, bankCode: '058' },
  payIn: async (accountNumber, amount) => {
    const paid = await fake.pay(accountNumber, BigInt(amount));
    return typeof paid === 'string' ? null : paid.transactionReference;
  },
  callbacks: () => fake.events,
  sendLosing: (what, instruction) => {
    fake.break('POST /api/v2/disbursements/single', 'reset', { acts: what === 'response' });
    return rail.sendTransfer(instruction);
  },
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

test.each(railPromises(CAPABILITIES).map(({ title, check }) => [title, check] as const))('%s', async (_, check) => {
  await check(bench);
  expect(monnify.fake.complaints).toEqual([]);
});
