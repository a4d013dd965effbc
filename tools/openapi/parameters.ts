// The parameters and headers of the OpenAPI document.
import type { Route } from '../../src/api/route.ts';
import type { JsonSchema, SchemaWriter } from './schemas.ts';

/** The header names, by the names of their components. */
export const HEADER_NAMES: Readonly<Record<string, string>> = {
  XRequestId: 'X-Request-Id',
  XRateLimitLimit: 'X-RateLimit-Limit',
  XRateLimitRemaining: 'X-RateLimit-Remaining',
  XRateLimitReset: 'X-RateLimit-Reset',
  RetryAfter: 'Retry-After',
  IdempotentReplayed: 'Idempotent-Replayed',
  Link: 'Link',
};

const text = { type: 'string' };
/** Header values are text; a number is its digits. */
const digits = { type: 'string', pattern: '^[0-9]+$' };

export const HEADERS: JsonSchema = {
  XRequestId: {
    description: 'Equal to `meta.requestId`: names the request in the log',
    required: true,
    schema: { type: 'string', pattern: '^req_[0-9a-f]{24}$' },
  },
  XRateLimitLimit: { description: 'Requests a minute for this key', schema: digits },
  XRateLimitRemaining: { description: 'Requests left in this minute', schema: digits },
  XRateLimitReset: { description: 'When the next minute begins, in seconds since 1970', schema: digits },
  RetryAfter: { description: 'Seconds to wait', required: true, schema: digits },
  IdempotentReplayed: {
    description: '`true`: the stored response of an earlier request with this Idempotency-Key',
    schema: { const: 'true' },
  },
  Link: { description: 'The page of this error, as `rel="help"`', required: true, schema: text },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A unique value, such as a UUID. A repeat with the same key returns the same response, and does nothing.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};

export const PARAMETERS: JsonSchema = {
  IdempotencyKey: { ...idempotencyKey, required: true },
  OptionalIdempotencyKey: idempotencyKey,
  Limit: {
    name: 'limit',
    in: 'query',
    description: 'The page size. Any other value counts as 20.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    description: 'The `nextCursor` of the previous page, unchanged; it includes limit and filters.',
    schema: text,
  },
};

/** In each webhook: some generators leave out a component that only webhooks use. */
export const WEBHOOK_PARAMETERS: readonly JsonSchema[] = [
  { name: 'webhook-id', in: 'header', required: true, description: "The event's id", schema: text },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'When this attempt was sent, in seconds since 1970',
    schema: digits,
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description: 'Signatures by Standard Webhooks: `v1,` and base64, separated by spaces',
    schema: text,
  },
];

/** What each parameter of a path is. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'The public id of the resource',
  rail: 'The name of the rail',
  sessionId: "The bank's id of the credit",
  accountNumber: 'Ten digits',
  reference: 'The id of a withdrawal, refund or payout item that was sent',
};

export const pathParameters = (route: Route): JsonSchema[] =>
  [...route.path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name],
    schema: { type: 'string', minLength: 1 },
  }));

/**
 * How a parameter that is no text is sent, by its type: `metadata[order]=17`, `expand=wallet,payment`. A reference page
 * would fill in an object of its own, if the document had no example.
 */
const STYLES: Readonly<Record<string, JsonSchema>> = {
  object: { style: 'deepObject', explode: true, example: {} },
  array: { style: 'form', explode: false },
};

export function queryParameters(route: Route, writer: SchemaWriter): JsonSchema[] {
  const schema = route.filters ?? route.query ?? route.fromCsv?.query;
  const { properties = {}, required = [] }: { properties?: Record<string, JsonSchema>; required?: readonly string[] } =
    schema === undefined ? {} : writer.input(schema);
  const own = Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    ...(route.fromCsv !== undefined && { description: 'With a body of text/csv only' }),
    ...(required.includes(name) && { required: true }),
    ...STYLES[String(property.type)],
    schema: property,
  }));
  if (route.filters === undefined) return own;
  return [{ $ref: '#/components/parameters/Limit' }, { $ref: '#/components/parameters/Cursor' }, ...own];
}
