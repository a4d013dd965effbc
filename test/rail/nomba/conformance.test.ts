// The Nomba adapter keeps every promise of the rail port.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SIGNED_FIELDS, signedEvent } from '../../../dev/nomba/events.ts';
import { NombaFake } from '../../../dev/nomba/fake.ts';
import { FAKE_CREDENTIALS } from '../../../dev/nomba/fakeCredentials.ts';
import type { Row } from '../../../dev/nomba/views.ts';
import { newUuid } from '../../../src/ids.ts';
import { AMOUNT_MAX } from '../../../src/money.ts';
import { createNombaRail, nomba } from '../../../src/rail/nomba/rail.ts';
import { createContractHarness } from '../../../src/rail/promises/harness.ts';
import type { Credentials } from '../../../src/rail/provider.ts';
import type { ControlledHarness, ProviderAnswer, ProviderControl } from '../promises/control.ts';
import { findBroken, optionsOf, PROMISES } from '../promises/promises.ts';

const SEND = 'POST /v2/transfers/bank';
const LOGIN = 'POST /v1/auth/token/issue';
const LIST = 'POST /v1/transactions/accounts';

type Case = readonly [ProviderAnswer['means'], readonly [number, string, string]];
const SENT: readonly Case[] = [
  ['refused', [400, '400', 'BAD_REQUEST']],
  ['refused', [400, '400', 'amount can not be null']],
  ['refused', [422, '422', 'Unprocessable entity']],
  ['refused', [400, '400', 'INVALID_TRANSACTION']],
  ['refused', [200, '05', 'Transaction not permitted']],
  ['refused', [200, '06', 'Error — do not retry']],
  ['refused', [200, '06', 'BLACKLISTED']],
  ['refused', [200, '06', 'FAILED']],
  ['refused', [200, '06', 'Success.']],
  ['refused', [404, '404', 'ACCOUNT_NOT_FOUND']],
  ['refused', [404, '404', 'WALLET_NOT_FOUND']],
  ['exists', [400, '06', 'The idempotency key was used']],
  ['exists', [409, '409', 'Duplicate merchantTxRef']],
  ['unclear', [200, '01', 'Generic error']],
  ['unclear', [200, '200', 'SUCCESS']],
  ['unclear', [200, '06', 'PROCESSING']],
  ['unclear', [500, '500', 'Internal server error']],
];
const ASKED: readonly Case[] = [
  ['absent', [404, '404', 'Transaction not found']],
  ['absent', [404, '02', 'Not found']],
  ['absent', [200, '404', 'Not found']],
  ['unclear', [200, '00', 'Success']], // without data
  ['unclear', [200, '01', 'Generic error']],
  ['unclear', [400, '400', 'BAD_REQUEST']],
  ['unclear', [404, '404', 'ACCOUNT_NOT_FOUND']],
  ['unclear', [500, '404', 'Not found']],
];

let fake: NombaFake;
let harness: ControlledHarness & { close: () => Promise<void> };

beforeAll(async () => {
  let at = Date.parse('2026-11-22T09:30:00Z');
  const now = (): Date => new Date(at);
  // Enough for the largest amounts, and few enough kobo for a balance that can be read.
  fake = await new NombaFake(now, 10n * BigInt(AMOUNT_MAX)).start();
  const open = (credentials: Credentials) => createNombaRail(credentials as typeof fake.credentials, now);
  const rail = open(fake.credentials);
  const rowOf = (session: string): Row => fake.rows.find(({ sessionId }) => sessionId === session) as Row;
  let lastAccount = 1_300_000_000;
  const control: ProviderControl = {
    newDestination: () => {
      lastAccount += 1;
      return Promise.resolve({ accountNumber: String(lastAccount), bankCode: '058' });
    },
    noAccount: { accountNumber: '8000000006', bankCode: '058' },
    payIn: (accountNumber, amount) => Promise.resolve(fake.pay(accountNumber, BigInt(amount))),
    payOut: (accountNumber, amount) => Promise.resolve(fake.payOut(accountNumber, BigInt(amount))),
    lists: {
      came: ['SUCCESS'],
      takenBack: 'REFUND',
      unreadable: [{ amount: '2,500.00' }, { timeCreated: '2019-11-22T09:30:00Z' }, { entryType: undefined }],
      setStatus: (sessionId, status) => {
        rowOf(sessionId).status = status;
      },
      alter: (sessionId, fields) => fake.lists.rows.set(rowOf(sessionId).id, fields),
      overlap: (on) => {
        fake.lists.overlaps = on;
      },
      loop: (on) => {
        fake.lists.loops = on;
      },
    },
    signedFields: SIGNED_FIELDS,
    namesContract: false,
    callbackOfAnother: (secret, { reference, accountNumber }) => {
      const row: Row = {
        id: 'API-VACT_TRA-00000-000000000001',
        type: 'vact_transfer',
        status: 'SUCCESS',
        amount: '2020.37',
        charge: '0.01',
        at: now(),
        merchantTxRef: null,
        sessionId: '100004261122103000999999999999',
        recipient: accountNumber,
        ref: reference,
        timesPaid: 0,
        body: '',
      };
      const key = secret === 'ours' ? FAKE_CREDENTIALS.signatureKey : 'the key of another merchant';
      return Promise.resolve(signedEvent('payment_success', row, now(), 0, key));
    },
    sendLosing: (what, instruction) => {
      fake.break(SEND, 'reset', what === 'response');
      return rail.sendTransfer(instruction);
    },
    sendNotReady: {
      underfunded: async (instruction) => {
        const { balance } = fake;
        fake.balance = 0n;
        try {
          return await rail.sendTransfer(instruction);
        } finally {
          fake.balance = balance;
        }
      },
      rate_limited: (instruction) => {
        fake.break(SEND, 'rate_limited', false);
        return rail.sendTransfer(instruction);
      },
      unauthorised: (instruction) => {
        fake.break(SEND, 'expired_token', false);
        fake.break(SEND, 'expired_token', false);
        return rail.sendTransfer(instruction);
      },
      feature_off: (instruction) => {
        fake.break(SEND, 'spring_403', false);
        return rail.sendTransfer(instruction);
      },
    },
    failLogins: (fail) => {
      if (fail) fake.break(LOGIN, 'html_502', false);
      else fake.mend(LOGIN);
    },
    answers: [
      ...SENT.map(([means, answer]) => ({
        to: 'send' as const,
        means,
        words: answer.join(' '),
        give: (acts: boolean) => {
          fake.hidden = true;
          fake.refuse(SEND, answer, { acts });
          return () => {
            fake.hidden = false;
          };
        },
      })),
      ...ASKED.map(([means, answer]) => ({
        to: 'status' as const,
        means,
        words: answer.join(' '),
        give: () => {
          fake.refuse(LIST, answer);
          return () => {};
        },
      })),
    ],
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
  const pause = async (ms: number): Promise<void> => {
    at += ms;
  };
  const controlled = createContractHarness(
    { ...nomba, open: ({ credentials }) => open(credentials) },
    { id: newUuid(), organisationId: newUuid(), environment: 'live', credentials: fake.credentials },
    await optionsOf(control),
    { now, pause },
  );
  harness = { ...controlled, control, callbacks: () => fake.events };
});

afterAll(async () => {
  await harness.close();
  await fake.close();
});

test.each(PROMISES.map((promise) => [promise.id, promise] as const))('%s', async (_, promise) => {
  expect(await findBroken(promise, harness)).toBeNull();
  expect(fake.complaints).toEqual([]);
});
