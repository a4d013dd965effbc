// Reads a request body: first its raw bytes, which the idempotency fingerprint needs, then the JSON.
import type { Context } from 'koa';
import getRawBody from 'raw-body';
import { ApiError, type FieldError, invalidField } from '../errors.ts';

/** 64 KB, hundreds of times the size of an ordinary request. */
const BODY_BYTES_MAX = 64 * 1024;

/** Of an ordinary request. */
const PLAIN_LENGTH_MAX = 2_000;

/** Reads the raw bytes. Throws BODY_TOO_LARGE, with the limit. Ends with the response: nothing comes after it. */
export async function readBody(ctx: Context, bytesMax: number = BODY_BYTES_MAX): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const onClose = (): void => reject(new Error('the connection was closed before the body had come'));
  ctx.res.once('close', onClose);
  try {
    getRawBody(ctx.req, { limit: bytesMax, length: ctx.request.length }, (error, bytes) =>
      error === null ? resolve(bytes) : reject(error),
    );
    return await promise;
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

/** Throws UNSUPPORTED_CONTENT_TYPE for a body that is said to be in another charset than UTF-8, or compressed. */
export function requireUtf8(ctx: Context): void {
  const isUtf8 = /^(utf-?8|us-ascii)?$/i.test(ctx.request.charset);
  if (!isUtf8 || !/^(identity)?$/i.test(ctx.get('Content-Encoding'))) throw new ApiError('UNSUPPORTED_CONTENT_TYPE');
}

/**
 * Parses a body as JSON; undefined when it is empty. Throws UNSUPPORTED_CONTENT_TYPE, MALFORMED_JSON, or
 * VALIDATION_FAILED for a field that is given twice: parsers differ in which one counts.
 */
export function parseJson(ctx: Context, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (ctx.is('application/json') !== 'application/json') throw new ApiError('UNSUPPORTED_CONTENT_TYPE');
  requireUtf8(ctx);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new ApiError('MALFORMED_JSON', {}, { cause: error });
  }
  // What is written as JSON.stringify writes it has each field once. (A long text may be nested too deeply for that.)
  const isPlain = text.length <= PLAIN_LENGTH_MAX && JSON.stringify(value) === text;
  const ambiguous = isPlain ? null : ambiguousField(text);
  if (ambiguous !== null) throw invalidField(ambiguous);
  return value;
}

/** More than a payout of a thousand items has. */
const FIELDS_MAX = 10_000;
const TOO_MANY_FIELDS = {
  code: 'too_big',
  message: `a body must have at most ${FIELDS_MAX} fields`,
  constraint: { maximum: FIELDS_MAX },
};

/** Of valid JSON: strings, with the colon after a name; beginnings and ends of objects with fields; fractions. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"\s*:?|\{(?!\s*\})|\}(?<!\{\s*\})|(?<!\d)-?\d+\.\d+(?:[eE][+-]?\d+)?/g;

/**
 * A field of valid JSON whose value depends on its reader: one that an object has twice, and a fraction that a number
 * cannot hold, which would become a whole number. Null: there is none.
 */
function ambiguousField(json: string): FieldError | null {
  const open: Set<string>[] = [];
  let field = '';
  let fields = 0;
  for (const [token] of json.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (token.endsWith(':')) {
      fields += 1;
      field = JSON.parse(token.slice(0, -1));
      if (fields > FIELDS_MAX) return { field: '', ...TOO_MANY_FIELDS };
      if (open.at(-1)?.has(field) === true) return { field, code: 'duplicate', message: 'must be given once' };
      open.at(-1)?.add(field);
    } else if (/^-?\d+\.0*[1-9]\d*$/.test(token) && Number.isInteger(Number(token))) {
      return { field, code: 'invalid_type', message: 'must be a whole number', constraint: { expected: 'int' } };
    }
  }
  return null;
}
