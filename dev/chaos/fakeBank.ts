// The fakes of providers as banks of a chaos run: each has books of its own, ends its transfers by their account, and
// misbehaves at random, as its seed says: it loses requests and responses, says other things than it does, is slow to
// show what it has accepted, and its callbacks are lost and changed.
import { bankBookOf, statusOf } from '../monnify/bankBook.ts';
import type { TransferStep } from '../monnify/book.ts';
import { UNKNOWN_ACCOUNT } from '../monnify/destinations.ts';
import { signEvent } from '../monnify/events.ts';
import { MonnifyFake } from '../monnify/fake.ts';
import { FAKE_CREDENTIALS as MONNIFY } from '../monnify/fakeCredentials.ts';
import type { Fault } from '../monnify/faults.ts';
import { SIGNED_FIELDS, signedEvent } from '../nomba/events.ts';
import { NombaFake } from '../nomba/fake.ts';
import { kobo, type Row } from '../nomba/views.ts';
import type { Payer, TrafficBank } from './bank.ts';
import type { SentCallback } from './callbackRelay.ts';
import type { BankBook } from './invariants.ts';
import type { Destination } from './requests.ts';

export const FAKES = ['nomba', 'monnify'] as const;
export type FakeName = (typeof FAKES)[number];

export interface FakeBank extends TrafficBank {
  rail: FakeName;
  credentials: Record<string, string>;
  setCallbackUrl: (url: string) => void;
  /** Misbehaves once. */
  misbehave: () => void;
  /** Behaves from now on. */
  calm: () => void;
  /** The callback with something changed. */
  changed: (callback: SentCallback) => SentCallback;
  /** A true callback that there is news of a transfer. */
  newsOf: (reference: string) => SentCallback;
  /** Moves what it has collected to what it pays from, where it has two balances. */
  settle: () => Promise<void>;
  book: () => BankBook;
  /** What the adapter must never send. */
  complaints: readonly string[];
  close: () => Promise<void>;
}

/** A transfer takes its next step after this time. */
const STEP_MS = 300;
/** What the organisation pays in first. */
const FUNDING = 1_000_000_000n;
const LOSES: readonly Fault[] = ['reset', 'reset', 'reset_in_body', 'html_502', 'empty_body', 'not_utf8', 'hang'];
const REFUSES: readonly Fault[] = ['rate_limited', 'expired_token'];
/** A response may be lost several times in a row. */
const TIMES_MAX = 4;
/** Less than the adapters wait for (shortTimes.mjs). */
const HIDDEN_MAX_MS = 5_000;
const HIDDEN_MAX_QUERIES = 2;

/** The account of a payer. */
const PAYER = '0065432190';

/** Accounts at other banks: a new one for each transfer, because equal transfers to one account may be refused. */
class Accounts {
  readonly #destinations = new Map<string, Destination>();
  #last = 1_900_000_000;

  open(destination: Destination | 'ownWallet'): string {
    if (destination === 'doesNotExist') return UNKNOWN_ACCOUNT;
    this.#last += 1;
    const accountNumber = String(this.#last);
    this.#destinations.set(accountNumber, destination === 'ownWallet' ? 'completes' : destination);
    return accountNumber;
  }

  of(accountNumber: string): Destination {
    return this.#destinations.get(accountNumber) ?? 'completes';
  }
}

const pick = <One>(random: () => number, list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;

/** The leaves of a JSON value, as paths. */
const leavesOf = (tree: unknown, path: readonly string[] = []): string[][] =>
  typeof tree === 'object' && tree !== null
    ? Object.entries(tree).flatMap(([key, value]) => leavesOf(value, [...path, key]))
    : [[...path]];

/** Changes some leaves of a callback to values of another one, or to others. */
function changeLeaves(
  body: Buffer,
  random: () => number,
  others: readonly Buffer[],
  isKept: (path: string) => boolean,
) {
  const tree = JSON.parse(body.toString()) as Record<string, unknown>;
  const other = others.length === 0 ? tree : (JSON.parse(pick(random, others).toString()) as Record<string, unknown>);
  const at = (from: unknown, path: readonly string[]): unknown =>
    path.reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], from);
  for (const path of leavesOf(tree)) {
    if (isKept(path.join('.')) || random() < 0.5) continue;
    const parent = at(tree, path.slice(0, -1)) as Record<string, unknown>;
    const value = at(other, path) ?? null;
    parent[path.at(-1) ?? ''] = typeof value === 'number' && random() < 0.5 ? value * 7 : value;
  }
  return Buffer.from(JSON.stringify(tree));
}

export async function startFakeBank(rail: FakeName, random: () => number): Promise<FakeBank> {
  return await (rail === 'nomba' ? startNomba(random) : startMonnify(random));
}

async function startNomba(random: () => number): Promise<FakeBank> {
  const SEND = 'POST /v2/transfers/bank';
  const LIST = 'POST /v1/transactions/accounts';
  const QUERY = 'GET /v1/transactions/requery/*';
  const ROUTES = [SEND, SEND, SEND, LIST, LIST, QUERY, 'POST /v1/accounts/virtual', 'POST /v1/transfers/bank/lookup'];
  const fake = await new NombaFake(() => new Date(), 0n).start();
  const accounts = new Accounts();
  const sessions = new Map<string, string>();
  let isReleased = false;
  const hide = (): void => {
    fake.hiddenForMs = random() * HIDDEN_MAX_MS;
  };
  const step = setInterval(() => {
    for (const { merchantTxRef, status, recipient, at, type } of fake.rows) {
      if (merchantTxRef === null || type !== 'transfer' || Date.now() - at.getTime() < STEP_MS) continue;
      const destination = accounts.of(recipient);
      if (status === 'SUCCESS' && destination === 'returns') fake.end(merchantTxRef, 'REFUND');
      if (status !== 'PENDING_BILLING' || (destination === 'holds' && !isReleased)) continue;
      fake.end(merchantTxRef, destination === 'rejects' ? 'REFUND' : 'SUCCESS');
    }
  }, STEP_MS);

  return {
    rail: 'nomba',
    credentials: fake.credentials,
    setCallbackUrl: (url) => {
      fake.callbackUrl = url;
    },
    credit(accountNumber, amount, session) {
      const id = amount > 0 ? fake.pay(accountNumber, BigInt(amount)) : null;
      if (id !== null) sessions.set(session, id);
      return Promise.resolve();
    },
    async repeatCredit(_accountNumber, _amount, session) {
      const id = sessions.get(session);
      const event = fake.events.find(({ body }) => id !== undefined && body.includes(id));
      if (event === undefined || fake.callbackUrl === null) return;
      const init = { method: 'POST', headers: event.headers, body: new Uint8Array(event.body) };
      await fetch(fake.callbackUrl, init).catch(() => {});
    },
    accountOf: (destination) => ({ accountNumber: accounts.open(destination), bankCode: '058' }),
    recall(session) {
      const id = sessions.get(session);
      if (id !== undefined) fake.recall(id);
      return Promise.resolve();
    },
    addLine: () => Promise.resolve(), // its charges are in its rows
    fund: null,
    endTransfer(reference, outcome) {
      const row = fake.transferOf(reference);
      if (row?.status === 'PENDING_BILLING') fake.end(reference, outcome === 'reject' ? 'REFUND' : 'SUCCESS');
      if (row?.status === 'SUCCESS' && outcome === 'return') fake.end(reference, 'REFUND');
      return Promise.resolve();
    },
    release() {
      isReleased = true;
      return Promise.resolve();
    },
    misbehave() {
      const route = pick(random, ROUTES);
      const times = 1 + Math.floor(random() * TIMES_MAX);
      switch (Math.floor(random() * 6)) {
        case 0:
          return fake.expireTokens();
        case 1:
          return hide();
        case 2: {
          // It says that it refuses, whatever it does, and may show what it accepted later.
          const answer = pick(random, [
            [200, '06', 'Error — do not retry'],
            [400, '06', 'Duplicate merchantTxRef'],
            [200, '05', 'Transaction not permitted'],
            [200, '01', 'Generic error'],
          ] as const);
          if (random() < 0.5) hide();
          // A duplicate is only of what it has.
          return fake.refuse(SEND, answer, { times, acts: answer[2].startsWith('Duplicate') || random() < 0.7 });
        }
        case 3:
          return fake.break(route, pick(random, REFUSES), false, times);
        default:
          return fake.break(route, pick(random, LOSES), random() < 0.6, times);
      }
    },
    calm() {
      fake.hiddenForMs = 0;
      for (const route of ROUTES) fake.mend(route);
    },
    changed: ({ headers, body }) => ({
      headers,
      body: changeLeaves(
        body,
        random,
        fake.events.map((one) => one.body),
        // Another session is another credit: one that there is not waits for an operator, who sets it aside.
        (path) => SIGNED_FIELDS.includes(path) || path.endsWith('.sessionId'),
      ),
    }),
    newsOf(reference) {
      const known = fake.transferOf(reference);
      const row: Row = known ?? {
        id: `API-TRANSFER-${reference}`,
        type: 'transfer',
        status: 'NEW',
        amount: '0.00',
        charge: '0.00',
        at: new Date(),
        merchantTxRef: reference,
        sessionId: 'none',
        recipient: '',
        ref: '',
        timesPaid: 0,
        body: '',
      };
      return signedEvent('payout_success', row, new Date(), fake.events.length);
    },
    settle: () => Promise.resolve(),
    book: () => nombaBook(fake),
    complaints: fake.complaints,
    async close() {
      clearInterval(step);
      await fake.close();
    },
  };
}

/** A transfer that was refunded left and came back, whatever came first. */
function nombaBook({ rows, balance }: NombaFake): BankBook {
  const transfers = rows.filter(({ type }) => type === 'transfer');
  const referenceOf = ({ merchantTxRef }: Row): string => merchantTxRef ?? '';
  const statusOfRow = ({ status }: Row): BankBook['transfers'][number]['status'] =>
    status === 'SUCCESS' ? 'completed' : status === 'REFUND' ? 'returned' : 'processing';
  return {
    rail: 'nomba',
    credits: rows
      .filter(({ type }) => type === 'vact_transfer')
      .map((row) => ({
        sessionId: row.sessionId,
        accountNumber: row.recipient,
        amount: Number(kobo(row.amount)),
        recalled: row.status === 'REFUND',
      })),
    transfers: transfers.map((row) => ({
      reference: referenceOf(row),
      status: statusOfRow(row),
      amount: Number(kobo(row.amount)),
    })),
    lines: transfers.flatMap((row): BankBook['lines'] => {
      const line = { reference: referenceOf(row), amount: Number(kobo(row.amount)) };
      const back = statusOfRow(row) === 'returned';
      const sent = Array.from({ length: back ? Math.max(1, row.timesPaid) : row.timesPaid }, () => ({
        ...line,
        kind: 'sent' as const,
      }));
      return back ? [...sent, { ...line, kind: 'returned' }] : sent;
    }),
    holds: Number(balance),
  };
}

const PENDING: TransferStep = { status: 'PENDING' };
const SUCCESS: TransferStep = { status: 'SUCCESS', comment: 'Transaction successful' };
const FAILED: TransferStep = { status: 'FAILED', comment: 'Dormant beneficiary account' };
const REVERSED: TransferStep = { status: 'REVERSED', comment: 'Reversed by the receiving bank' };

async function startMonnify(random: () => number): Promise<FakeBank> {
  const SEND = 'POST /api/v2/disbursements/single';
  const STATUS = 'GET /api/v2/disbursements/single/summary';
  const SEARCH = 'GET /api/v1/transactions/search';
  const QUERY = 'GET /api/v2/transactions/{reference}';
  const ROUTES = [SEND, SEND, SEND, STATUS, STATUS, SEARCH, QUERY, 'POST /api/v1/invoice/create'];
  const fake = await new MonnifyFake({ stepMs: STEP_MS, balance: 0n }).start();
  // What Monnify does not document is as the seed says.
  fake.book.feeRows = random() < 0.5 ? 'in_amount' : 'own_row';
  fake.book.returnsFees = random() < 0.5;
  fake.fund(FUNDING);
  const accounts = new Accounts();
  const sessions = new Map<string, string>();
  const held: string[] = [];
  return {
    rail: 'monnify',
    credentials: fake.credentials,
    setCallbackUrl: (url) => {
      fake.callbackUrl = url;
    },
    async credit(accountNumber, amount, session, payer: Payer = { accountNumber: PAYER, bankCode: '058' }) {
      if (amount <= 0) return;
      // Who pays has an account: a refund to one that name enquiry does not know waits for operators, without end.
      const number = payer.accountNumber === UNKNOWN_ACCOUNT ? PAYER : payer.accountNumber;
      const paid = await fake.pay(accountNumber, BigInt(amount), {
        name: 'CHIDI EZE',
        accountNumber: number,
        bankCode: '000013',
      });
      if (typeof paid !== 'string') sessions.set(session, paid.transactionReference);
    },
    async repeatCredit(_accountNumber, _amount, session) {
      const id = sessions.get(session);
      const event = fake.events.find(({ body }) => id !== undefined && body.includes(id));
      if (event !== undefined) await fake.send(event);
    },
    accountOf(destination) {
      const accountNumber = accounts.open(destination);
      if (destination === 'rejects')
        fake.plans.set(accountNumber, { steps: [PENDING, { status: 'IN_PROGRESS' }, FAILED] });
      if (destination === 'returns') fake.plans.set(accountNumber, { steps: [PENDING, SUCCESS, REVERSED] });
      if (destination === 'losesResponse') fake.plans.set(accountNumber, { fault: 'reset', acts: true, times: 1 });
      if (destination === 'losesTransfer') fake.plans.set(accountNumber, { fault: 'reset', times: 2 });
      if (destination === 'unavailable') {
        fake.plans.set(accountNumber, { fault: 'reset', on: 'send_and_status' });
        held.push(accountNumber);
      }
      if (destination === 'holds') {
        fake.plans.set(accountNumber, { steps: [PENDING] });
        held.push(accountNumber);
      }
      return { accountNumber, bankCode: '058' };
    },
    recall(session) {
      fake.book.recall(sessions.get(session) ?? '');
      return Promise.resolve();
    },
    addLine: () => Promise.resolve(), // its charges are in its rows
    fund: (amount) => fake.fund(BigInt(amount)),
    async endTransfer(reference, outcome) {
      const transfer = fake.book.transfers.get(reference);
      if (transfer === undefined) return;
      const status = statusOf(transfer.steps);
      const isOpen = status === 'processing';
      if (!isOpen && !(status === 'completed' && outcome === 'return')) return;
      const steps = { complete: [SUCCESS], reject: [FAILED], return: isOpen ? [SUCCESS, REVERSED] : [REVERSED] }[
        outcome
      ];
      transfer.steps = [...transfer.steps.slice(0, 1), ...steps];
      await fake.advance(reference);
    },
    async release() {
      for (const accountNumber of held) fake.plans.set(accountNumber, {});
      for (const { reference, steps } of fake.book.transfers.values()) {
        if (steps.length === 1 && statusOf(steps) === 'processing') await fake.end(reference, 'SUCCESS');
      }
    },
    misbehave() {
      const route = pick(random, ROUTES);
      const times = 1 + Math.floor(random() * TIMES_MAX);
      switch (Math.floor(random() * 6)) {
        case 0:
          return fake.expireTokens();
        case 1:
          fake.hiddenFor = HIDDEN_MAX_QUERIES;
          return;
        case 2: {
          const [status, code, message] = pick(random, [
            [422, 'D03', 'Invalid account details supplied'],
            [422, 'D01', 'Invalid request'],
            [422, 'D05', 'Supplied reference already exists!'],
            [400, '99', 'An unexpected error occurred'],
          ] as const);
          fake.hiddenFor = random() < 0.5 ? HIDDEN_MAX_QUERIES : 0;
          return fake.refuse(SEND, status, code, message, code === 'D05' || random() < 0.7);
        }
        case 3:
          return fake.break(route, pick(random, REFUSES), { times });
        default:
          return fake.break(route, pick(random, LOSES), { acts: random() < 0.6, times });
      }
    },
    calm() {
      fake.hiddenFor = 0;
      for (const route of ROUTES) fake.mend(route);
    },
    changed: ({ headers, body }) => ({
      headers,
      body: changeLeaves(
        body,
        random,
        fake.events.map((one) => one.body),
        () => false,
      ),
    }),
    newsOf: (reference) =>
      signEvent({ eventType: 'SUCCESSFUL_DISBURSEMENT', eventData: { reference } }, MONNIFY.secretKey),
    settle: async () => void (await fake.settle()),
    book: () => bankBookOf(fake),
    complaints: fake.complaints,
    close: () => fake.close(),
  };
}
