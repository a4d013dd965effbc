// The response envelopes (contract, section 2.2): item, page and error, each with the request id.
import { randomUUID } from 'node:crypto';
import { type ApiError, typeOf } from './errors.ts';
import type { Page } from './route.ts';

export const REQUEST_ID_PREFIX = 'req_';

/** Hexadecimal digits of the milliseconds since 1970. */
const TIME_DIGITS = 12;

const timeDigits = (ms: number): string => ms.toString(16).padStart(TIME_DIGITS, '0');

/** `req_` and 24 hexadecimal characters: the time in milliseconds, which sorts the log, and 48 random bits. */
export function newRequestId(at = new Date()): string {
  const random = randomUUID().slice(-TIME_DIGITS); // Node caches random data for UUIDs, not for randomBytes
  return `${REQUEST_ID_PREFIX}${timeDigits(at.getTime())}${random}`;
}

export const timeOfRequestId = (requestId: string): Date =>
  new Date(Number.parseInt(requestId.slice(REQUEST_ID_PREFIX.length, REQUEST_ID_PREFIX.length + TIME_DIGITS), 16));

/** The lowest digits of a request id of this time. Times before 1970, and after what 48 bits hold, are those limits. */
export const digitsFrom = (at: Date): string =>
  timeDigits(Math.min(Math.max(at.getTime(), 0), 2 ** 48 - 1)).padEnd(2 * TIME_DIGITS, '0');

export const successEnvelope = (
  statusCode: number,
  { data, pagination }: Pick<Page, 'data'> & Partial<Page>,
  requestId: string,
) => ({ success: true, statusCode, data, pagination, meta: { requestId } });

export function errorEnvelope(error: ApiError, requestId: string): object {
  return {
    success: false,
    statusCode: error.status,
    error: { type: typeOf(error.code), code: error.code, message: error.message, details: error.details },
    meta: { requestId },
  };
}
