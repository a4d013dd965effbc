// The sandbox bank keeps every promise of the rail port.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { type Keyring, parseKeyring } from '../../src/keyring.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { createHarness } from '../../src/rail/promises/harness.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import type { Behaviour } from '../../src/rail/sandbox/destinations.ts';
import { newSessionId } from '../../src/rail/sandbox/transfers.ts';
import type { ControlledHarness, ProviderControl } from './promises/control.ts';
import { findBroken, optionsOf, PROMISES } from './promises/promises.ts';
import { KEYRING, startSandbox, type TestSandbox } from './sandbox.ts';

const sandbox = await startSandbox();
const { rail, organisationId, sent } = sandbox;
const control = controlOf(sandbox);
const clock = { now: () => new Date(), pause: (ms: number) => delay(Math.min(ms, 20)) };
const subject = { rail, organisationId, contract: null, isLive: false };
const harness: ControlledHarness = {
  ...createHarness(subject, await optionsOf(control), clock),
  control,
  callbacks: () => sent,
};

afterAll(() => sandbox.close());

const OUTCOMES = { complete: 'complete', fail: 'reject', return: 'return' } as const;
const LOSSES = { request: 'timeout_lost', response: 'timeout_delivered' } as const;

const OTHER_KEYRING: Keyring = parseKeyring(`other:${Buffer.alloc(32, 2).toString('base64url')}`);

function controlOf({ bank, rail, organisationId }: TestSandbox): ProviderControl {
  let lastAccount = 2_000_000_000;
  const set = (accountNumber: string, behaviour: Behaviour) =>
    bank.transfers.setDestination({ organisationId, accountNumber, bankCode: null }, { name: null, behaviour });
  return {
    newDestination: async () => {
      lastAccount += 1;
      await set(String(lastAccount), 'hold');
      return { accountNumber: String(lastAccount), bankCode: '058' };
    },
    noAccount: { accountNumber: '9999999006', bankCode: '058' },
    payIn: async (accountNumber, amount) => {
      const sender = { senderName: 'Chidi Eze', senderAccountNumber: '0065432190', senderBankCode: '058' };
      const sessionId = newSessionId(new Date());
      await bank.receiveCredit({ organisationId, sessionId, accountNumber, amount, ...sender });
      return sessionId;
    },
    namesContract: true,
    callbackOfAnother: (secret, { reference, accountNumber }) => {
      const body = JSON.stringify({
        type: 'inbound_credit',
        contract: newUuid(),
        sessionId: newSessionId(new Date()),
        accountNumber,
        accountReference: reference,
        amount: 202_037,
        senderName: 'Chidi Eze',
        senderAccountNumber: '0065432190',
        senderBankCode: '058',
        receivedAt: new Date().toISOString(),
      });
      const signature = signCallback(secret === 'ours' ? KEYRING : OTHER_KEYRING, body, new Date());
      return Promise.resolve({ headers: { [SIGNATURE_HEADER]: signature }, body: Buffer.from(body) });
    },
    sendLosing: async (what, instruction) => {
      await set(instruction.accountNumber, LOSSES[what]);
      return await rail.sendTransfer(instruction);
    },
    sendNotReady: {
      underfunded: async (instruction) => {
        await set(instruction.accountNumber, 'underfunded');
        try {
          return await rail.sendTransfer(instruction);
        } finally {
          await set(instruction.accountNumber, 'hold');
        }
      },
    },
    openLosing: async (request) => {
      await rail.openVirtualAccount(request);
      throw new RailUnavailableError('the response was lost');
    },
    end: async (reference, outcome) => {
      expect(await bank.transfers.resolve(organisationId, reference, OUTCOMES[outcome])).toBe(true);
    },
    timesPaid: async (reference) => (await bank.transfers.find(organisationId, reference))?.timesPaid ?? 0,
    secrets: [],
  };
}

test.each(PROMISES.map((promise) => [promise.id, promise] as const))('%s', async (_, promise) => {
  expect(await findBroken(promise, harness)).toBeNull();
});
