// What a provider was asked and how it responded, for `rail check`. Only work that runs within `recorded` is noted.
import { AsyncLocalStorage } from 'node:async_hooks';

/** A request and its response. `route` is a pattern, without ids. */
export interface Exchange {
  method: string;
  route: string;
  /** Null: there was no complete response. */
  status: number | null;
  /** The header `Date` of the response; null: it has none. */
  date: Date | null;
  /** When the response arrived, by the clock of this machine. */
  at: Date;
  ms: number;
  /** The body, with numbers as their text. Undefined: not JSON. It has secrets and personal data in it. */
  json: unknown;
}

const listeners = new AsyncLocalStorage<(exchange: Exchange) => void>();

/** Runs `work`, and notes each exchange of it. */
export const recorded = <Result>(note: (exchange: Exchange) => void, work: () => Promise<Result>): Promise<Result> =>
  listeners.run(note, work);

/** Called by the HTTP client of the adapters. */
export const noteExchange = (exchange: Exchange): void => listeners.getStore()?.(exchange);
