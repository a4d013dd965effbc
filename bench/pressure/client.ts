// An integrator of one organisation: calls the API with its key.
import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import type { Sql } from '../../src/database/pool.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import type { BenchBook } from '../book.ts';

export interface Answer {
  status: number;
  /** Seconds; null when the response has none. */
  retryAfter: number | null;
  data: Record<string, unknown>;
}

/** An account at another bank, whose transfers complete. */
export const PAYEE = { accountNumber: '0123456789', bankCode: '058' };
/** An account whose bank accepts the transfer and does not respond in time. */
export const SILENT_PAYEE = { accountNumber: '9999999004', bankCode: '058' };
/** Of a payment, a transfer or a payout item, in kobo. */
export const AMOUNT = 1_000;

/** The bank of the client's environment. */
export interface ClientBank {
  /** Of the database with its books. */
  sql: Sql;
  credit: (client: Client, accountNumber: string, amount: number) => Promise<unknown>;
}

/** The sandbox bank of the service, which keeps its books beside those of the service. */
export const sandboxBank = (sql: Sql): ClientBank => ({
  sql,
  credit: (client, accountNumber, amount) => client.post('/simulations/inbound-credits', { accountNumber, amount }),
});

export class Client {
  readonly book: BenchBook;
  readonly bank: ClientBank;
  readonly #url: string;
  readonly #authorization: string;

  constructor(url: string, authorization: string, book: BenchBook, bank: ClientBank) {
    this.#url = url;
    this.#authorization = authorization;
    this.book = book;
    this.bank = bank;
  }

  /** Public id of one of the customers' wallets. */
  wallet(): string {
    const { wallets } = this.book;
    return publicId('wallet', wallets[Math.floor(Math.random() * wallets.length)] as Uuid);
  }

  async call(method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object): Promise<Answer> {
    const response = await request(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: this.#authorization,
        ...(payload && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(payload && { body: JSON.stringify(payload) }),
    });
    const { data = {}, error } = (await response.body.json()) as Pick<Partial<Answer>, 'data'> & {
      error?: { details: { retryAfterSeconds?: number } };
    };
    return { status: response.statusCode, data, retryAfter: error?.details.retryAfterSeconds ?? null };
  }

  /** A POST that must succeed. Returns the resource. */
  async post(path: string, payload: object): Promise<Record<string, unknown>> {
    const { status, data } = await this.call('POST', path, payload);
    if (status >= 300) throw new Error(`POST ${path} returned ${status}`);
    return data;
  }

  createPayment(expiresIn: number): Promise<Record<string, unknown>> {
    const payment = { method: 'bank_transfer', baseAmount: AMOUNT, targetWalletId: this.wallet(), expiresIn };
    return this.post('/payments', payment);
  }

  /** A transfer between two wallets; refused when both are the same. */
  transfer(): Promise<Answer> {
    const [source, destination] = this.#pair();
    return this.call('POST', `/wallets/${source}/transfer`, { destinationWalletId: destination, amount: AMOUNT });
  }

  async payOut(count: number, bankAccount = PAYEE): Promise<Record<string, unknown>> {
    return await this.post('/payouts', {
      items: Array.from({ length: count }, () => ({ amount: AMOUNT, bankAccount })),
    });
  }

  #pair(): [string, string] {
    const source = this.wallet();
    for (;;) {
      const destination = this.wallet();
      if (destination !== source) return [source, destination];
    }
  }
}
