// The response envelopes (contract, section 2.2): item, page and error, each with the request id.
import { randomUUID } from 'node:crypto';
import { type ApiError, typeOf } from './errors.ts';
import type { ItemResponse, Page } from './route.ts';

/** `req_` and 24 hexadecimal characters; 90 of their 96 bits are random. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '').slice(-24)}`; // Node caches random data for UUIDs, not for randomBytes
}

export function successEnvelope(result: ItemResponse | Page, requestId: string): object {
  return {
    success: true,
    statusCode: result.status,
    data: result.data,
    ...('pagination' in result && { pagination: result.pagination }),
    meta: { requestId },
  };
}

export function errorEnvelope(error: ApiError, requestId: string): object {
  return {
    success: false,
    statusCode: error.status,
    error: { type: typeOf(error.code), code: error.code, message: error.message, details: error.details },
    meta: { requestId },
  };
}
