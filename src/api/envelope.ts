// The three shapes of every answer (contract, section 2.2), and the request id that all of them carry.
import { randomUUID } from 'node:crypto';
import { type ApiError, typeOf } from './errors.ts';
import type { ItemResponse, Page } from './route.ts';

/** `req_` and 24 hexadecimal characters, nearly all of them chance. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '').slice(-24)}`; // Node keeps a store of UUIDs, and none of single bytes
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
