// The error responses of each operation: those that every route of its declaration has, and its own.

import { CATALOG, type ErrorCode, type ErrorStatus, typeOf } from '../../src/api/errors.ts';
import { type Route, takesIdempotencyKey } from '../../src/api/route.ts';
import { ERRORS, REACTIONS } from './envelope.ts';
import type { Examples } from './examples.ts';
import type { JsonSchema, SchemaWriter } from './schemas.ts';

/** Every error code that the route may answer with. */
function errorsOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = ['VALIDATION_FAILED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', ...(route.errors ?? [])];
  const named = /([a-z-]+)s\/:id/.exec(route.path)?.[1]; // the resource
  if (named !== undefined) codes.push(`${named.toUpperCase().replace('-', '_')}_NOT_FOUND` as ErrorCode);
  if (route.method !== 'get') codes.push('BODY_TOO_LARGE');
  if (route.body !== undefined) codes.push('MALFORMED_JSON', 'UNSUPPORTED_CONTENT_TYPE');
  if (route.access !== 'none') {
    codes.push(
      'API_KEY_MISSING',
      'API_KEY_INVALID',
      'API_KEY_ENVIRONMENT_MISMATCH',
      'IP_NOT_ALLOWED',
      'RATE_LIMIT_EXCEEDED',
    );
  }
  if (route.access !== 'none' && route.access !== 'any') codes.push('API_KEY_SCOPE_FORBIDDEN');
  if (route.idempotencyKey === 'required') codes.push('IDEMPOTENCY_KEY_MISSING');
  if (takesIdempotencyKey(route)) {
    codes.push('IDEMPOTENCY_KEY_INVALID', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS');
  }
  const order = Object.keys(CATALOG);
  return [...new Set(codes)].toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
}

/** The names of the components, which end in a number where responses of a status differ in their codes. */
const NAMES: Record<ErrorStatus, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  422: 'Unprocessable',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
};

/** The refusals that are stored with their Idempotency-Key. */
const REPLAYED: readonly ErrorStatus[] = [404, 409, 422];

/** The error responses of all operations; operations with the same codes and headers share one. */
export class ErrorResponses {
  readonly components: Record<string, JsonSchema> = {};
  readonly #names = new Map<string, string>();
  readonly #writer: SchemaWriter;
  readonly #examples: Examples;

  constructor(writer: SchemaWriter, examples: Examples) {
    this.#writer = writer;
    this.#examples = examples;
  }

  /** The error responses of a route, by status. `headersOf` describes the headers of a response. */
  of(route: Route, headersOf: (names: readonly string[]) => JsonSchema): JsonSchema {
    const byStatus = Map.groupBy(errorsOf(route), (code) => CATALOG[code][0]);
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => {
        const names = ['XRequestId', 'Link'];
        if (status === 429) names.push('RetryAfter');
        if (takesIdempotencyKey(route) && REPLAYED.includes(status)) names.push('IdempotentReplayed');
        const response = errorResponse(status, codes, this.#writer, this.#examples, headersOf(names));
        return [status, { $ref: `#/components/responses/${this.#nameOf(status, response)}` }];
      }),
    );
  }

  #nameOf(status: ErrorStatus, response: JsonSchema): string {
    const text = JSON.stringify(response);
    const existing = this.#names.get(text);
    if (existing !== undefined) return existing;
    const others = Object.keys(this.components).filter((name) => name.replace(/\d+$/, '') === NAMES[status]).length;
    const name = `${NAMES[status]}${others === 0 ? '' : others + 1}`;
    this.components[name] = response;
    this.#names.set(text, name);
    return name;
  }
}

function errorResponse(
  status: ErrorStatus,
  codes: readonly ErrorCode[],
  writer: SchemaWriter,
  examples: Examples,
  headers: JsonSchema,
): JsonSchema {
  const [first] = codes;
  if (first === undefined) throw new Error(`no code has the status ${status}`);
  const recorded = codes.filter((code) => code in examples.errors);
  const schema = {
    allOf: [
      writer.output(ERRORS[typeOf(first)]),
      { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: codes } } } } },
    ],
  };
  return {
    description: REACTIONS[status].replaceAll('\n', ' '),
    headers,
    content: {
      'application/json': {
        schema,
        ...(recorded.length > 0 && {
          examples: Object.fromEntries(recorded.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        }),
      },
    },
  };
}

/** The recorded error answers, as components. */
export const errorExamples = (examples: Examples): JsonSchema =>
  Object.fromEntries(
    Object.entries(examples.errors).map(([code, value]) => [code, { summary: CATALOG[code as ErrorCode][1], value }]),
  );
