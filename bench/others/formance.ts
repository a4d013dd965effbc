// Formance ledger 2 as its OpenAPI document describes it: a ledger of its own for a run, accounts that come into being
// with their first posting, an idempotency key for each transfer.
import { randomUUID } from 'node:crypto';
import { WALLETS } from '../book.ts';
import type { LoadRequest } from '../load.ts';
import { type Call, eachOf, parseAnswer } from './call.ts';
import { FUNDS, HOT_FUNDS, type OtherBook, type Standing, type Verdict } from './otherBook.ts';

const ASSET = 'NGN/2';
const HOT = 'hot';
/** Postings in one transaction that funds accounts. */
const FUNDED_AT_ONCE = 100;

interface Posting {
  source: string;
  destination: string;
  amount: number;
  asset: string;
}

export async function openFormance(call: Call): Promise<OtherBook> {
  const ledger = `bench-${randomUUID().slice(0, 8)}`;
  const wallets = Array.from({ length: WALLETS }, (_, number) => `wallets:${number}`);
  const post = async (postings: Posting[]): Promise<void> => {
    await call('POST', `/v2/${ledger}/transactions`, {}, transaction(postings));
  };
  await call('POST', `/v2/${ledger}`, {}, {});
  await post([posting('world', HOT, HOT_FUNDS)]);
  await eachOf(WALLETS / FUNDED_AT_ONCE, async (part) => {
    const some = wallets.slice(part * FUNDED_AT_ONCE, (part + 1) * FUNDED_AT_ONCE);
    await post(some.map((wallet) => posting('world', wallet, FUNDS)));
  });
  return {
    hot: HOT,
    wallets,
    transfer: (source, destination, amount) => formanceTransfer(ledger, source, destination, amount),
    judge: judgeFormance,
    read: () => readStanding(call, ledger),
  };
}

const posting = (source: string, destination: string, amount: number): Posting => ({
  source,
  destination,
  amount,
  asset: ASSET,
});

const transaction = (postings: Posting[]) => ({ postings, metadata: {} });

export function formanceTransfer(ledger: string, source: string, destination: string, amount: number): LoadRequest {
  return {
    method: 'POST',
    path: `/v2/${ledger}/transactions`,
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify(transaction([posting(source, destination, amount)])),
  };
}

/** A transaction that was posted is answered 200 with its postings; anything else has an `errorCode`. */
export function judgeFormance(status: number, body: string): Verdict {
  const answer = parseAnswer(body) as { data?: { postings?: Posting[] }; errorCode?: string } | undefined;
  const amount = answer?.data?.postings?.[0]?.amount;
  if (status === 200 && typeof amount === 'number') return { posted: amount };
  return { refused: `${status} ${answer?.errorCode ?? 'without a transaction'}` };
}

async function readStanding(call: Call, ledger: string): Promise<Standing> {
  const all = (await call('GET', `/v2/${ledger}/aggregate/balances`)) as { data: Record<string, number> };
  const volumes = async (account: string) => {
    const answer = (await call('GET', `/v2/${ledger}/accounts/${account}?expand=volumes`)) as {
      data: { volumes: Record<string, { input: number; output: number }> };
    };
    return answer.data.volumes[ASSET] ?? { input: 0, output: 0 };
  };
  const world = await volumes('world');
  const hot = await volumes(HOT);
  return {
    // All balances add up to nothing: what others hold, `world` owes.
    held: (all.data[ASSET] ?? 0) - (world.input - world.output),
    throughHot: hot.input + hot.output,
  };
}
