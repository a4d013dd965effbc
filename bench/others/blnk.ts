// Blnk as its documentation describes it, synchronous (`skip_queue`): balances in a ledger of their own, funded from its
// `@World`, a reference for each transfer that it takes only once.
import { randomUUID } from 'node:crypto';
import { WALLETS } from '../book.ts';
import type { LoadRequest } from '../load.ts';
import { type Call, eachOf, parseAnswer } from './call.ts';
import { FUNDS, HOT_FUNDS, type OtherBook, type Standing, type Verdict } from './otherBook.ts';

const CURRENCY = 'NGN';

type Headers = Record<string, string>;

export async function openBlnk(call: Call, key: string | undefined): Promise<OtherBook> {
  const headers: Headers = key ? { 'x-blnk-key': key } : {};
  const { ledger_id } = (await call('POST', '/ledgers', headers, { name: `bench ${randomUUID()}` })) as {
    ledger_id: string;
  };
  const open = async (funds: number): Promise<string> => {
    const { balance_id } = (await call('POST', '/balances', headers, { ledger_id, currency: CURRENCY })) as {
      balance_id: string;
    };
    const funding = { ...transaction('@World', balance_id, funds), allow_overdraft: true };
    const { status } = (await call('POST', '/transactions', headers, funding)) as { status?: string };
    if (status !== 'APPLIED') throw new Error(`a balance was not funded: its transaction is ${status}`);
    return balance_id;
  };
  const hot = await open(HOT_FUNDS);
  const wallets: string[] = [];
  await eachOf(WALLETS, async (number) => {
    wallets[number] = await open(FUNDS);
  });
  return {
    hot,
    wallets,
    transfer: (source, destination, amount) => blnkTransfer(headers, source, destination, amount),
    judge: judgeBlnk,
    read: () => readStanding(call, headers, hot, wallets),
  };
}

/** The amount in kobo, without `amount`: that is a float in naira, and Blnk wants one of the two. */
const transaction = (source: string, destination: string, amount: number) => ({
  precise_amount: amount,
  precision: 100,
  reference: randomUUID(),
  currency: CURRENCY,
  description: 'bench',
  source,
  destination,
  skip_queue: true,
});

export function blnkTransfer(headers: Headers, source: string, destination: string, amount: number): LoadRequest {
  return {
    method: 'POST',
    path: '/transactions',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(transaction(source, destination, amount)),
  };
}

/** 201 alone says little: one that only waits in a queue is answered so as well. Older versions have no `error_detail`. */
export function judgeBlnk(status: number, body: string): Verdict {
  const answer = parseAnswer(body) as
    | { status?: string; precise_amount?: number; error_detail?: { code?: string }; error?: string; errors?: string }
    | undefined;
  if (status === 201 && answer?.status === 'APPLIED' && typeof answer.precise_amount === 'number') {
    return { posted: answer.precise_amount };
  }
  const why = answer?.error_detail?.code ?? answer?.error ?? answer?.errors ?? answer?.status;
  return { refused: `${status} ${why ?? 'without a transaction'}` };
}

async function readStanding(call: Call, headers: Headers, hot: string, wallets: readonly string[]): Promise<Standing> {
  const read = async (id: string) =>
    (await call('GET', `/balances/${id}`, headers)) as {
      balance: number;
      credit_balance: number;
      debit_balance: number;
    };
  const { balance, credit_balance, debit_balance } = await read(hot);
  let held = balance;
  await eachOf(wallets.length, async (number) => {
    const wallet = await read(wallets[number] as string);
    held += wallet.balance;
  });
  return { held, throughHot: credit_balance + debit_balance };
}
