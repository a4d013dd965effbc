// The Nomba adapter keeps every promise of the rail port.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NombaFake } from '../../../dev/nomba/fake.ts';
import { FAKE_CREDENTIALS } from '../../../dev/nomba/fakeCredentials.ts';
import { newUuid, publicId } from '../../../src/ids.ts';
import { type RailBench, railPromises } from '../../../src/rail/conformance.ts';
import { CAPABILITIES, createNombaRail } from '../../../src/rail/nomba/rail.ts';
import type { ContractRail } from '../../../src/rail/provider.ts';

let fake: NombaFake;
let rail: ContractRail;
let bench: RailBench;

beforeAll(async () => {
  const now = (): Date => new Date('2026-11-22T09:30:00Z');
  fake = await new NombaFake(now).start();
  rail = createNombaRail(fake.credentials, now);
  let lastAccount = 1_300_000_000;
  bench = {
    rail,
    organisationId: newUuid(),
    now,
    newReference: () => publicId('withdrawal', newUuid()),
    newDestination: () => {
      lastAccount += 1;
      return Promise.resolve({ accountNumber: String(lastAccount), bankCode: '058' });
    },
    noDestination: { accountNumber: '8000000006', bankCode: '058' },
    payIn: (accountNumber, amount) => Promise.resolve(fake.pay(accountNumber, BigInt(amount))),
    callbacks: () => fake.events,
    sendLosing: (what, instruction) => {
      fake.break('POST /v2/transfers/bank', 'reset', what === 'response');
      return rail.sendTransfer(instruction);
    },
    openLosing: (request) => {
      fake.break('POST /v1/accounts/virtual', 'reset', true);
      return rail.openVirtualAccount(request);
    },
    end: (reference, outcome) => {
      fake.end(reference, outcome === 'complete' ? 'SUCCESS' : 'REFUND');
      return Promise.resolve();
    },
    timesPaid: (reference) => Promise.resolve(fake.transferOf(reference)?.timesPaid ?? 0),
    secrets: [FAKE_CREDENTIALS.clientSecret, FAKE_CREDENTIALS.signatureKey, 'eyJhbGciOiJIUzI1NiIs'],
  };
});

afterAll(async () => {
  await rail.close();
  await fake.close();
});

test.each(railPromises(CAPABILITIES).map(({ title, check }) => [title, check] as const))('%s', async (_, check) => {
  await check(bench);
  expect(fake.complaints).toEqual([]);
});
