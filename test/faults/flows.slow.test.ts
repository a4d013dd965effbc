// Crashes of processes and servers do not affect money, over the sandbox bank and over Monnify with the contract of an
// organisation. The worker is a separate process, killed with SIGKILL; the second Temporal server starts only after the
// payments were accepted. Each reference is paid at most once, by the bank's own book.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { connect, type Sql } from '../../src/database/pool.ts';
import { publicId } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { runCli } from '../cli/run.ts';
import { type Client, startTestApi, type TestApi } from '../support/api.ts';
import { endProcess, killProcesses, startProcess } from '../support/processes.ts';
import { ownerOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** A bank as these tests need it, in one environment of the organisation. */
interface FaultBank {
  /** The name of its rail. */
  rail: string;
  client: Client;
  credit: (accountNumber: string, amount: number) => Promise<unknown>;
  /** It accepts the next send and does not answer it. The sandbox bank answers at once: it is in our database. */
  hang: () => void;
  /** Completes what it has not answered. */
  complete: (reference: string) => Promise<void>;
  /** How often it was sent the transfer, and how often its own book has it as paid; null: it has no such transfer. */
  timesOf: (reference: string) => Promise<{ sent: number; paid: number } | null>;
  /** The transfers that its own book has as paid more than once. */
  paidTwice: () => Promise<string[]>;
  /** Returns the requests that no adapter may send. */
  close: () => Promise<readonly string[]>;
}

const SEND = 'POST /api/v2/disbursements/single';
const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
const LIMIT_MS = 600_000;

const NAMES = ['sandbox', 'monnify'] as const;

let api: TestApi;
let owner: Sql;
let banks: Record<(typeof NAMES)[number], FaultBank>;

beforeAll(async () => {
  api = await startTestApi();
  owner = connect(ownerOf(api.databaseUrl), { connectionsMax: 2, role: 'owner' });
  banks = { sandbox: sandboxBank(), monnify: await connectMonnify() };
}, LIMIT_MS);

afterAll(async () => {
  await killProcesses();
  const { findings } = await verifyBooks(owner);
  const paidTwice = await Promise.all(Object.values(banks).map((bank) => bank.paidTwice()));
  await owner.end();
  await api.close();
  const complaints = await Promise.all(Object.values(banks).map((bank) => bank.close()));
  expect([findings, paidTwice.flat(), complaints.flat()]).toEqual([[], [], []]);
});

function sandboxBank(): FaultBank {
  return {
    rail: 'sandbox',
    client: api.test,
    credit: (accountNumber, amount) => api.test.post('/simulations/inbound-credits', { accountNumber, amount }),
    hang: () => {},
    complete: () => Promise.resolve(),
    timesOf: async (reference) => {
      const [times] = await owner<{ sent: number; paid: number }[]>`
        SELECT r.times AS sent, count(l.*)::int AS paid
        FROM sandbox_bank.transfers t JOIN sandbox_bank.requests r USING (organisation_id, reference)
        LEFT JOIN sandbox_bank.statement_lines l USING (organisation_id, reference)
        WHERE t.reference = ${reference} GROUP BY r.times`;
      return times ?? null;
    },
    paidTwice: async () => {
      const twice = await owner<{ reference: string }[]>`
        SELECT reference FROM sandbox_bank.statement_lines WHERE kind = 'sent' GROUP BY reference HAVING count(*) > 1`;
      return twice.map(({ reference }) => reference);
    },
    close: () => Promise.resolve([]),
  };
}

/** The fake of Monnify, on live, with the contract of the organisation. */
async function connectMonnify(): Promise<FaultBank> {
  const fake = await new MonnifyFake().start();
  const { organisationId } = api.organisation;
  const organisation = ['--organisation', publicId('organisation', organisationId)];
  const words = ['rail', 'connect', 'monnify', '--environment', 'live', '--reason', 'test', '--json', ...organisation];
  const more = { MANILLA_KEYS: KEYS, RAIL_CREDENTIALS: JSON.stringify(fake.credentials) };
  const { output, errors } = await runCli(words, { databaseUrl: api.databaseUrl, home: tmpdir(), more });
  if (errors !== '') throw new Error(errors);
  const { callbackPath } = JSON.parse(output) as { callbackPath: string };
  fake.callbackUrl = `${new URL(api.urls.live).origin}${callbackPath}`;
  const timesPaid = (reference: string): number =>
    fake.book.wallet.filter(({ type, narration }) => type === 'DEBIT' && narration.includes(`/#/${reference}/#/`))
      .length;
  return {
    rail: 'monnify',
    client: api.live,
    credit: async (accountNumber, amount) => {
      const paid = await fake.pay(accountNumber, BigInt(amount));
      if (typeof paid === 'string') throw new Error(`the payment was ${paid}`);
    },
    hang: () => fake.break(SEND, 'hang', { acts: true }),
    complete: (reference) => fake.end(reference, 'SUCCESS'),
    timesOf: (reference) => {
      const sent = fake.book.transfers.get(reference)?.timesSent;
      return Promise.resolve(sent === undefined ? null : { sent, paid: timesPaid(reference) });
    },
    paidTwice: () => Promise.resolve([...fake.book.transfers.keys()].filter((reference) => timesPaid(reference) > 1)),
    close: async () => {
      await fake.close();
      return fake.complaints;
    },
  };
}

const startWorkerProcess = (settings?: NodeJS.ProcessEnv) =>
  startProcess('worker', api, { SCHEDULES: 'on', ...settings });

async function createPayment({ client }: FaultBank, walletId: string) {
  const { status, data } = await client.money('/payments', {
    method: 'bank_transfer',
    baseAmount: 100_000,
    targetWalletId: walletId,
  });
  expect(status).toBe(201);
  return data as typeof data & { virtualAccount: { accountNumber: string }; payableAmount: number };
}

const untilIs = ({ client }: FaultBank, resource: string, status: string) =>
  waitFor(`${resource} to be ${status}`, async () => (await client.get(resource)).data.status === status, 540_000);

const creditsPosted = async ({ rail }: FaultBank): Promise<number> => {
  const [row] = await owner<{ posted: number }[]>`
    SELECT count(*)::int AS posted FROM ledger.transactions
    WHERE key LIKE ${`credit/${rail}/%`} AND key NOT LIKE ${`credit/${rail}/test-%`} -- those of the test itself`;
  return row?.posted ?? 0;
};

describe.each(NAMES)('over %s', (name) => {
  test(
    'after a worker is killed while posting a credit and sending a transfer, another one posts and pays each once',
    async () => {
      const bank = banks[name];
      const walletId = await api.createWallet(bank.client);
      const payment = await createPayment(bank, walletId);
      const payerId = await api.createWallet(bank.client);
      await api.fund(api.organisation.organisationId, payerId, 103_000, bank.rail);
      bank.hang();
      const body = { amount: 100_000, accountNumber: '0123456789', bankCode: '058' };
      const { data: withdrawal, status } = await bank.client.money(`/wallets/${payerId}/withdraw`, body);
      expect(status).toBe(201);
      const first = startWorkerProcess();
      await waitFor('the bank to have accepted the transfer', () => bank.timesOf(withdrawal.id), LIMIT_MS);

      // Lock the wallet's account row, so that the worker is inside ledger.post when it is killed.
      const holder = connect(ownerOf(api.databaseUrl), { connectionsMax: 1, role: 'owner' });
      const code = `wallet:${walletId}`;
      await holder.unsafe('BEGIN');
      await holder`SELECT 1 FROM ledger.accounts WHERE code = ${code} FOR UPDATE`;
      await bank.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
      await waitFor('the worker to be inside ledger.post', async () => {
        const [row] = await owner<{ waiting: number }[]>`
          SELECT count(*)::int AS waiting FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ledger.post%'`;
        return row !== undefined && row.waiting > 0;
      });
      await endProcess(first);
      await holder.unsafe('ROLLBACK');
      await holder.end();

      await bank.complete(withdrawal.id);
      const second = startWorkerProcess();
      await untilIs(bank, `/payments/${payment.id}`, 'settled');
      expect(await api.balanceOf(walletId)).toBe(100_000);
      expect(await creditsPosted(bank)).toBe(1);
      const events = await owner`SELECT type FROM events WHERE resource = ${payment.id} ORDER BY sequence`;
      expect(events.map(({ type }) => type)).toEqual(['payment.settled', 'payment.completed']);
      await untilIs(bank, `/withdrawals/${withdrawal.id}`, 'completed');
      expect(await bank.timesOf(withdrawal.id)).toEqual({ sent: 1, paid: 1 });
      expect(await api.balanceOf(payerId)).toBe(0);
      await endProcess(second);
    },
    LIMIT_MS,
  );

  test(
    'a credit that arrived while no worker was running is posted when one starts',
    async () => {
      const bank = banks[name];
      const walletId = await api.createWallet(bank.client);
      const payment = await createPayment(bank, walletId);
      const before = await creditsPosted(bank);
      await bank.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
      const worker = startWorkerProcess();
      await untilIs(bank, `/payments/${payment.id}`, 'settled');
      expect(await creditsPosted(bank)).toBe(before + 1);
      await endProcess(worker);
    },
    LIMIT_MS,
  );
});

test(
  'POST /payments is 201 while Temporal is down, and the flows of every bank start when it is available',
  async () => {
    const port = await freePort();
    const worker = startWorkerProcess({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
    const accepted = await Promise.all(
      NAMES.map(async (name) => {
        const bank = banks[name];
        const walletId = await api.createWallet(bank.client);
        const payment = await createPayment(bank, walletId);
        await bank.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
        expect((await bank.client.get(`/payments/${payment.id}`)).data.status).toBe('pending');
        return { bank, walletId, payment };
      }),
    );

    const folder = await mkdtemp(path.join(tmpdir(), 'manilla-temporal-'));
    const parts = new Supervisor({ logFolder: folder, say: () => {} });
    try {
      await startTemporal(parts, { program: await findTemporal({ say: () => {} }), portPreferred: port });
      for (const { bank, walletId, payment } of accepted) {
        await untilIs(bank, `/payments/${payment.id}`, 'settled');
        expect(await api.balanceOf(walletId)).toBe(100_000);
      }
    } finally {
      await endProcess(worker);
      await parts.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
