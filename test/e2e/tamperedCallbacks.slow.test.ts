// A callback decides nothing that its signature does not cover, and a wrong report never replaces the bank's record:
// callbacks with a true signature and every other field changed at random come first, and each kobo goes where the
// bank's own books say. Monnify signs the whole body, so there the bank itself reports wrongly; a body that was changed
// on the way is refused.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { signEvent } from '../../dev/monnify/events.ts';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { FAKE_CREDENTIALS } from '../../dev/monnify/fakeCredentials.ts';
import { SIGNED_FIELDS } from '../../dev/nomba/events.ts';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { publicId } from '../../src/ids.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { violationsOf } from '../support/violations.ts';
import { waitFor } from '../support/waitFor.ts';

const LIMIT_MS = 120_000;
const PAYMENTS = 12;
const SEED = Number(process.env.TAMPER_SEED ?? Date.now());

/** As if everything had been paid a minute ago: the poll leaves younger credits to their callbacks. */
const now = (): Date => new Date(Date.now() - 60_000);

interface Sent {
  headers: Record<string, string>;
  body: Buffer;
}

interface Bank {
  rail: ClosableRail;
  pay: (accountNumber: string, amount: number) => Promise<unknown>;
  /** Takes the last credit back. */
  recallLast: () => void;
  sent: () => readonly Sent[];
  /** The fields that stay as they are. */
  kept: (path: string) => boolean;
  /** The callback with another body, with a signature that is true. */
  resigned: (sent: Sent, body: object) => Sent;
  close: () => Promise<void>;
}

const BANKS: Record<string, () => Promise<Bank>> = {
  nomba: async () => {
    const fake = await new NombaFake(now).start();
    return {
      rail: createNombaRail(fake.credentials),
      pay: (accountNumber, amount) => Promise.resolve(fake.pay(accountNumber, BigInt(amount))),
      recallLast: () => fake.recall(fake.rows.at(-1)?.sessionId ?? ''),
      sent: () => fake.events,
      kept: (path) => SIGNED_FIELDS.includes(path),
      resigned: ({ headers }, body) => ({ headers, body: Buffer.from(JSON.stringify(body)) }),
      close: () => fake.close(),
    };
  },
  monnify: async () => {
    const fake = await new MonnifyFake({ now }).start();
    return {
      rail: createMonnifyRail(fake.credentials),
      pay: (accountNumber, amount) => fake.pay(accountNumber, BigInt(amount)),
      recallLast: () => fake.book.recall([...fake.book.collections.keys()].at(-1) ?? ''),
      sent: () => fake.events,
      // The sender is signed, and the look-up masks its number: that is a fact of the callback.
      kept: (path) => /^eventType|paymentMethod$|product\.type$|paymentSourceInformation/.test(path),
      resigned: (_, body) => signEvent(body, FAKE_CREDENTIALS.secretKey),
      close: () => fake.close(),
    };
  },
};

const leavesOf = (tree: unknown, path: readonly string[] = []): string[] =>
  typeof tree === 'object' && tree !== null
    ? Object.entries(tree).flatMap(([key, value]) => leavesOf(value, [...path, key]))
    : [path.join('.')];

const at = (tree: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], tree);

function set(tree: unknown, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const parent = at(tree, keys.join('.')) as Record<string, unknown>;
  if (value === undefined) delete parent[last];
  else parent[last] = value;
}

/** What a field is changed to. `other`: what the same field of another callback has. */
const CHANGE = fc.oneof(
  { weight: 4, arbitrary: fc.constant('keep' as const) },
  { weight: 4, arbitrary: fc.constant('other' as const) },
  fc.constantFrom(undefined, null, '', 'x', 0, -1, true, {}, '9999999999', 20_203.7, '0000000001'),
);
const ROUND = fc.record({
  of: fc.nat(PAYMENTS - 1),
  other: fc.nat(PAYMENTS - 1),
  changes: fc.array(CHANGE, { minLength: 60, maxLength: 60 }),
});

describe.each(Object.keys(BANKS))('callbacks of %s', (name) => {
  let bank: Bank;
  let flows: TestFlows;

  beforeAll(async () => {
    bank = await (BANKS[name] as () => Promise<Bank>)();
    flows = await startTestFlows({ rails: () => new Rails({ test: guardedRail(bank.rail) }) });
  }, LIMIT_MS);

  afterAll(async () => {
    const findings = await violationsOf(flows.sql);
    await flows.close();
    await bank.rail.close();
    await bank.close();
    expect(findings).toEqual([]);
  });

  const receive = async ({ headers, body }: Sent): Promise<number> => {
    const contract = publicId('organisation', flows.organisation.organisationId);
    const url = `${flows.urls.test}/rails/${name}/callbacks/${contract}`;
    return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })).status;
  };

  test(
    `that were tampered with never change where a kobo goes (TAMPER_SEED=${SEED})`,
    async () => {
      const paid: { id: string; walletId: string; amount: number; sent: Sent }[] = [];
      for (let index = 0; index < PAYMENTS; index += 1) {
        const amount = 100_000 + index * 1_001;
        const walletId = await flows.createWallet();
        const payment = await flows.createPayment(walletId, amount);
        await bank.pay(payment.virtualAccount.accountNumber, payment.payableAmount);
        paid.push({ id: payment.id, walletId, amount, sent: bank.sent().at(-1) as Sent });
      }
      for (const { of, other, changes } of fc.sample(ROUND, { numRuns: 60, seed: SEED })) {
        const { sent } = paid[of] as (typeof paid)[number];
        const body: object = JSON.parse(sent.body.toString());
        const otherBody: object = JSON.parse((paid[other] as (typeof paid)[number]).sent.body.toString());
        for (const [index, path] of leavesOf(body).entries()) {
          const change = changes[index % changes.length];
          if (bank.kept(path) || change === 'keep') continue;
          set(body, path, change === 'other' ? at(otherBody, path) : change);
        }
        expect([200, 400, 401]).toContain(await receive(bank.resigned(sent, body)));
        const cut = { headers: sent.headers, body: Buffer.concat([sent.body, Buffer.from('x')]) };
        expect(await receive(cut)).not.toBe(200);
      }
      // Some of the true callbacks come after all, and the list has the rest.
      for (const { sent } of paid.slice(0, PAYMENTS / 2)) expect(await receive(sent)).toBe(200);
      expect(await flows.runMaintenance('creditPolling')).toMatchObject({ failed: 0 });
      for (const { id, walletId, amount } of paid) {
        const payment = await flows.untilStatus(`/payments/${id}`, 'settled');
        await waitFor('the wallet', async () => (await flows.balanceOf(walletId)) === amount);
        expect(payment.amountReceived).toBe(payment.payableAmount);
        const { items } = await flows.test.get(`/payments/${id}/credits`);
        const posted = items.filter(({ status }) => status === 'posted');
        expect(posted.map(({ amount: received, sender }) => [received, (sender as { name: string }).name])).toEqual([
          [payment.payableAmount, 'CHIDI EZE'],
        ]);
      }
      expect(await flows.reviewCases()).toEqual([]);
    },
    LIMIT_MS,
  );

  /** The last callback, with another amount. */
  const wrongReport = (): Sent => {
    const sent = bank.sent().at(-1) as Sent;
    const body = JSON.parse(sent.body.toString());
    const fields = body.eventData ?? body.data.transaction;
    fields['amountPaid' in fields ? 'amountPaid' : 'transactionAmount'] = 10_100;
    return bank.resigned(sent, body);
  };

  test(
    'of which the first is wrong are replaced by the record',
    async () => {
      const walletId = await flows.createWallet();
      const payment = await flows.createPayment(walletId, 100_000);
      await bank.pay(payment.virtualAccount.accountNumber, payment.payableAmount);
      expect(await receive(wrongReport())).toBe(200);
      await flows.untilStatus(`/payments/${payment.id}`, 'settled');
      expect(await flows.balanceOf(walletId)).toBe(100_000);
    },
    LIMIT_MS,
  );

  test(
    'of a credit that is taken back before it is confirmed are replaced by the record too',
    async () => {
      const payment = await flows.createPayment(await flows.createWallet(), 100_000);
      await bank.pay(payment.virtualAccount.accountNumber, payment.payableAmount);
      const wrong = wrongReport();
      bank.recallLast();
      expect(await receive(wrong)).toBe(200);
      const period = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date().toISOString() };
      expect(await flows.runMaintenance('creditPolling', period)).toMatchObject({ failed: 0 });
      const recalled = await waitFor('the recall', async () => {
        const { items } = await flows.test.get(`/payments/${payment.id}/credits`);
        return items.some(({ status }) => status === 'recalled') && items;
      });
      expect(recalled.map(({ amount }) => amount)).toEqual([payment.payableAmount]);
    },
    LIMIT_MS,
  );
});
