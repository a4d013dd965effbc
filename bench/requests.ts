// Generators of the requests with which the stages load the API.
import { randomUUID } from 'node:crypto';
import { publicId } from '../src/ids.ts';
import type { BenchApi } from './api.ts';
import { type BenchBook, pickAmount, pickPair } from './book.ts';
import type { LoadRequest } from './load.ts';

/** A transfer of a small amount, with a new Idempotency-Key. */
export function transferRequest({ authorization }: BenchApi, book: BenchBook, load: 'hot' | 'uniform'): LoadRequest {
  const { source, destination } = pickPair(book, load);
  return {
    method: 'POST',
    path: `/v1/wallets/${publicId('wallet', source)}/transfer`,
    headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({ destinationWalletId: publicId('wallet', destination), amount: pickAmount() }),
  };
}

/** A read of the balance of a random wallet. */
export function balanceRequest({ authorization }: BenchApi, book: BenchBook): LoadRequest {
  const { source } = pickPair(book, 'uniform');
  return { method: 'GET', path: `/v1/wallets/${publicId('wallet', source)}/balance`, headers: { authorization } };
}
