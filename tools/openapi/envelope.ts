// The schemas of the envelopes (contract, section 2.2) and of the `details` of each error type (section 7).
import { z } from 'zod';
import type { ErrorStatus, ErrorType } from '../../src/api/errors.ts';
import type { Success } from '../../src/api/route.ts';
import { time } from '../../src/resources/publicFields.ts';

const meta = z
  .object({ requestId: z.string().regex(/^req_[0-9a-f]{24}$/) })
  .meta({ id: 'Meta', description: 'requestId is also the header X-Request-Id' });

const pagination = z
  .object({
    limit: z.number().int(),
    hasMore: z.boolean(),
    nextCursor: z.string().nullable().describe('Send it as `cursor` for the next page; null on the last'),
  })
  .meta({ id: 'Pagination' });

/** The envelope of a success. */
export const successOf = ({ status, data, paginated }: Success<unknown>) =>
  z.object({
    success: z.literal(true),
    statusCode: z.literal(status),
    data,
    ...(paginated && { pagination }),
    meta,
  });

const fieldError = z
  .object({
    field: z.string().describe('A dotted path, such as `items.3.amount`'),
    code: z.string(),
    message: z.string(),
    constraint: z.record(z.string(), z.unknown()).optional(),
    line: z.number().int().optional().describe('Of an uploaded file: the line, from 1'),
    column: z.string().optional().describe('Of an uploaded file: the name of the column'),
  })
  .meta({ id: 'FieldError' });

const byCode = z.record(z.string(), z.unknown()).describe('By code: see the page of errors');

const DETAILS: Record<ErrorType, z.ZodType> = {
  validation_error: z.object({ fields: z.array(fieldError) }),
  authentication_error: z.object({}),
  authorization_error: z.object({
    requiredScopes: z.array(z.string()).optional(),
    providedScopes: z.array(z.string()).optional(),
    address: z.string().optional().describe('Of IP_NOT_ALLOWED: where the request came from'),
  }),
  not_found_error: z.object({
    resource: z.string(),
    id: z.string(),
    allowedMethods: z.array(z.string()).optional().describe('Of ROUTE_NOT_FOUND, where the path exists'),
  }),
  conflict_error: byCode,
  unprocessable_error: byCode,
  rate_limit_error: z.object({
    limit: z.number().int(),
    remaining: z.number().int(),
    resetAt: time,
    retryAfterSeconds: z.number().int(),
  }),
  internal_error: z.object({
    retryable: z.boolean(),
    service: z.string().optional().describe('The dependency that is the cause'),
    retryAfterSeconds: z.number().int().optional(),
  }),
};

const nameOf = (type: string): string =>
  type
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** The envelope of an error, by its type. */
export const ERRORS = Object.fromEntries(
  Object.entries(DETAILS).map(([type, details]) => [
    type,
    z
      .object({
        success: z.literal(false),
        statusCode: z.number().int(),
        error: z.object({ type: z.literal(type), code: z.string(), message: z.string(), details }),
        meta,
      })
      .meta({ id: nameOf(type) }),
  ]),
) as unknown as Record<ErrorType, z.ZodType>;

/** What each error status means, and whether a retry helps. */
export const REACTIONS: Record<ErrorStatus, string> = {
  400: 'The request is invalid. Correct it; do not retry it unchanged. Nothing happened.',
  401: 'The key is not accepted. Retrying does not help.',
  403: 'The key lacks a scope, in `details.requiredScopes`, or may not be used from this address.',
  404: 'No such resource. An id of another organisation or environment returns the same.',
  409: 'A conflict with existing data, which `details` name.',
  422: 'The request is well formed, but the state of a wallet or payment does not allow it. No money moved. It may succeed\nlater, under a new `Idempotency-Key`.',
  429: 'The rate limit. Wait `Retry-After` seconds, then send the same request again.',
  500: 'An internal error. Retry with the same `Idempotency-Key`: it takes effect once.',
  502: 'The bank rail failed. Retry with the same `Idempotency-Key`: it takes effect once.',
  503: 'A dependency is unavailable or not configured. Where `details.retryable` is true, retry with the same\n`Idempotency-Key`: it takes effect once.',
  504: 'The bank rail timed out. Retry with the same `Idempotency-Key`: it takes effect once.',
};
