// Reads a request body: first its raw bytes, which the idempotency fingerprint needs, then the JSON.
import type { Context } from 'koa';
import getRawBody from 'raw-body';
import { ApiError } from '../errors.ts';

/** 64 KB, hundreds of times the size of an ordinary request. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Reads the raw bytes. Throws BODY_TOO_LARGE, with the limit in its details. Ends with the response: a request whose
 * response was sent before its body had come emits nothing any more.
 */
export async function readBody(ctx: Context, bytesMax: number = BODY_BYTES_MAX): Promise<Buffer> {
  const { promise: closed, reject } = Promise.withResolvers<never>();
  const onClose = (): void => reject(new Error('the connection was closed before the body had come'));
  ctx.res.once('close', onClose);
  try {
    return await Promise.race([getRawBody(ctx.req, { limit: bytesMax, length: ctx.request.length }), closed]);
  } catch (error) {
    if ((error as { type?: unknown }).type === 'entity.too.large') {
      const message = `must be at most ${bytesMax} bytes`;
      const field = { field: '', code: 'too_big', message, constraint: { maximum: bytesMax } };
      throw new ApiError('BODY_TOO_LARGE', { fields: [field] });
    }
    throw new ApiError('VALIDATION_FAILED', {}, { cause: error });
  } finally {
    ctx.res.off('close', onClose);
  }
}

/** Parses a body as JSON; undefined when it is empty. Throws UNSUPPORTED_CONTENT_TYPE or MALFORMED_JSON. */
export function parseJson(ctx: Context, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (ctx.is('application/json') !== 'application/json') throw new ApiError('UNSUPPORTED_CONTENT_TYPE');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ApiError('MALFORMED_JSON', {}, { cause: error });
  }
}
