// Other ledgers that somebody has running, for the same load: named by their URLs, they get accounts of ours and the same
// hot transfers over HTTP, one request a transfer, each answered when it is posted.
import { randomUUID } from 'node:crypto';
import { pickAmount, WALLETS } from './book.ts';
import type { Load } from './load.ts';

export interface OtherLedger {
  name: string;
  url: string;
  /** Makes the request of the next transfer. */
  request: Load['request'];
}

const FUNDS = 1_000_000_000;
const HOT_FUNDS = 1_000_000_000_000;
/** Requests under way while accounts are made. */
const AT_ONCE = 16;

/** The ledgers that the environment names (`FORMANCE_URL`; `BLNK_URL`, `BLNK_KEY`), with their accounts made and funded. */
export async function openOtherLedgers(environment: NodeJS.ProcessEnv): Promise<OtherLedger[]> {
  const { FORMANCE_URL, BLNK_URL, BLNK_KEY } = environment;
  return [
    ...(FORMANCE_URL ? [await openFormance(FORMANCE_URL)] : []),
    ...(BLNK_URL ? [await openBlnk(BLNK_URL, BLNK_KEY)] : []),
  ];
}

/** Formance ledger 2: a ledger of its own for this run. Accounts come into being with their first posting. */
async function openFormance(url: string): Promise<OtherLedger> {
  const ledger = `bench-${randomUUID().slice(0, 8)}`;
  const headers = { 'content-type': 'application/json' };
  const posting = (source: string, destination: string, amount: number) => ({
    source,
    destination,
    amount,
    asset: 'NGN/2',
  });
  const wallet = (number: number): string => `wallets:${number}`;
  const path = `/v2/${ledger}/transactions`;
  await send(url, `/v2/${ledger}`, headers, {});
  await send(url, path, headers, { postings: [posting('world', 'hot', HOT_FUNDS)] });
  await eachInTurn(WALLETS / 100, async (hundred) => {
    const postings = Array.from({ length: 100 }, (_, place) => posting('world', wallet(hundred * 100 + place), FUNDS));
    await send(url, path, headers, { postings });
  });
  return {
    name: 'Formance',
    url,
    request: () => {
      const { source, destination } = hotPair('hot', wallet);
      return {
        method: 'POST',
        path,
        headers: { ...headers, 'idempotency-key': randomUUID() },
        body: JSON.stringify({ postings: [posting(source, destination, pickAmount())] }),
      };
    },
  };
}

/** Blnk, synchronous (`skip_queue`): balances in a ledger of their own, funded from its `@World`. */
async function openBlnk(url: string, key: string | undefined): Promise<OtherLedger> {
  const headers = { 'content-type': 'application/json', ...(key ? { 'x-blnk-key': key } : {}) };
  const { ledger_id } = await send<{ ledger_id: string }>(url, '/ledgers', headers, { name: `bench ${randomUUID()}` });
  const transaction = (source: string, destination: string, amount: number, more: object = {}) => ({
    amount: amount / 100,
    precision: 100,
    reference: randomUUID(),
    currency: 'NGN',
    description: 'bench',
    source,
    destination,
    skip_queue: true,
    ...more,
  });
  const open = async (funds: number): Promise<string> => {
    const { balance_id } = await send<{ balance_id: string }>(url, '/balances', headers, {
      ledger_id,
      currency: 'NGN',
    });
    await send(url, '/transactions', headers, transaction('@World', balance_id, funds, { allow_overdraft: true }));
    return balance_id;
  };
  const hot = await open(HOT_FUNDS);
  const wallets: string[] = [];
  await eachInTurn(WALLETS, async (number) => {
    wallets[number] = await open(FUNDS);
  });
  return {
    name: 'Blnk',
    url,
    request: () => {
      const { source, destination } = hotPair(hot, (number) => wallets[number] as string);
      return {
        method: 'POST',
        path: '/transactions',
        headers,
        body: JSON.stringify(transaction(source, destination, pickAmount())),
      };
    },
  };
}

function hotPair(hot: string, wallet: (number: number) => string): { source: string; destination: string } {
  const other = wallet(Math.floor(Math.random() * WALLETS));
  return Math.random() < 0.5 ? { source: hot, destination: other } : { source: other, destination: hot };
}

async function send<Answer>(url: string, path: string, headers: Record<string, string>, body: object): Promise<Answer> {
  const response = await fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path} was answered ${response.status}: ${text.slice(0, 300)}`);
  return (text === '' ? {} : JSON.parse(text)) as Answer;
}

/** Does the work for each number below `count`, a few at a time. */
async function eachInTurn(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) {
      const number = next;
      next += 1;
      await work(number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
