// The OpenAPI 3.1 document, made from the route table, the error catalog and the event types.
import { readFileSync } from 'node:fs';
import { EVENTS, event, eventSchemaName } from '../../src/api/contract/events.ts';
import { type Route, takesIdempotencyKey } from '../../src/api/route.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { DESCRIPTIONS } from './descriptions.ts';
import { successOf } from './envelope.ts';
import { ErrorResponses, errorExamples } from './errors.ts';
import type { Examples } from './examples.ts';
import {
  HEADER_NAMES,
  HEADERS,
  PARAMETERS,
  pathParameters,
  queryParameters,
  WEBHOOK_PARAMETERS,
} from './parameters.ts';
import { type JsonSchema, SchemaWriter } from './schemas.ts';
import { INTRODUCTION, SECURITY_SCHEMES, TAGS, tagOf } from './texts.ts';

const { version, license } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** A path as OpenAPI writes it: `/wallets/{id}`. */
export const templateOf = (route: Route): string => route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}');

export function openApiDocument(examples: Examples): JsonSchema {
  const writer = new SchemaWriter();
  const errors = new ErrorResponses(writer, examples);
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of ROUTES) {
    const template = templateOf(route);
    paths[template] ??= {};
    paths[template][route.method] = operationOf(route, writer, errors, examples);
  }
  const webhooks = Object.fromEntries(Object.keys(EVENTS).map((type) => [type, webhookOf(type, writer, examples)]));
  writer.output(event);
  const schemas = Object.fromEntries([...writer.components].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const mapping = Object.keys(EVENTS).map((type) => [type, `#/components/schemas/${eventSchemaName(type)}`]);
  schemas.Event = { ...schemas.Event, discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) } };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Manilla API',
      version,
      summary: 'Wallets, collections, withdrawals, refunds and batch payouts in naira',
      description: INTRODUCTION,
      license: { name: 'Apache License 2.0', identifier: license },
    },
    servers: [{ url: '/v1', description: 'The host that serves this document: the sandbox, or live' }],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths,
    webhooks,
    components: {
      schemas,
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: errors.components,
      examples: errorExamples(examples),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operationOf(route: Route, writer: SchemaWriter, errors: ErrorResponses, examples: Examples): JsonSchema {
  const example = examples.operations[route.operationId];
  const { status } = route.success;
  const [summary, description] = DESCRIPTIONS[route.operationId] ?? [];
  if (description === undefined) throw new Error(`describe ${route.operationId} in tools/openapi/descriptions.ts`);
  const parameters = [...pathParameters(route), ...queryParameters(route, writer)];
  if (takesIdempotencyKey(route)) {
    const name = route.idempotencyKey === 'required' ? 'IdempotencyKey' : 'OptionalIdempotencyKey';
    parameters.push({ $ref: `#/components/parameters/${name}` });
  }
  return {
    operationId: route.operationId,
    summary,
    tags: [tagOf(route)],
    description: route.environments === undefined ? description : `On the sandbox host only. ${description}`,
    ...(route.environments !== undefined && { 'x-environments': route.environments }),
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: {
        required: !route.body.safeParse(undefined).success,
        content: {
          'application/json': { schema: writer.input(route.body), ...exampleOf(example?.request) },
          ...(route.fromCsv !== undefined && { 'text/csv': CSV_UPLOAD }),
        },
      },
    }),
    responses: {
      [status]: {
        description: route.success.paginated === true ? 'A page of the list' : 'Success',
        headers: headersOf(route, ['XRequestId', ...(takesIdempotencyKey(route) ? ['IdempotentReplayed'] : [])]),
        content: {
          'application/json': { schema: writer.output(successOf(route.success)), ...exampleOf(example?.response) },
          ...filesOf(route),
        },
      },
      ...errors.of(route, (names) => headersOf(route, names)),
    },
  };
}

/** The scopes of a key that may use the route: one of these. */
function securityOf({ access, method }: Route): JsonSchema[] {
  if (access === 'none') return [];
  if (access === 'any') return [{ apiKey: [] }];
  return [access]
    .flat()
    .flatMap((one) => [{ apiKey: [one] }, ...(method === 'get' ? [{ apiKey: [`${one}:read`] }] : [])]);
}

/** An event as its receiver sees it: a request to the endpoint. */
function webhookOf(type: string, writer: SchemaWriter, examples: Examples): JsonSchema {
  const entry = EVENTS[type as keyof typeof EVENTS];
  writer.output(event);
  return {
    post: {
      operationId: `receive${eventSchemaName(type)}`,
      summary: entry[0],
      description: 'Verify the signature, store the id, and respond with any 2xx within ten seconds.',
      tags: ['Webhooks'],
      security: [],
      parameters: WEBHOOK_PARAMETERS,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${eventSchemaName(type)}` },
            ...exampleOf(examples.events[type]),
          },
        },
      },
      responses: {
        '2XX': { description: 'Received' },
        '4XX': { description: 'Not received: it is sent again later, as after any other response' },
      },
    },
  };
}

const FILES = {
  csv: { 'text/csv': { schema: { type: 'string', description: 'All rows, with a header: `limit` does not apply' } } },
  pdf: { 'application/pdf': { schema: { type: 'string', format: 'binary' } } },
};
const filesOf = ({ success: { files = [] } }: Route): JsonSchema =>
  Object.assign({}, ...files.map((file) => FILES[file]));
const CSV_UPLOAD = {
  schema: { type: 'string' },
  example: 'amount,reference,accountNumber,bankCode\r\n20000,salary-1,0123456789,058\r\n',
};

const exampleOf = (example: unknown): { example?: unknown } => (example === undefined ? {} : { example });

/** The headers of a response; those of the rate limit wherever a key was counted. */
function headersOf(route: Route, names: readonly string[]): JsonSchema {
  const all = route.access === 'none' ? names : [...names, 'XRateLimitLimit', 'XRateLimitRemaining', 'XRateLimitReset'];
  return Object.fromEntries(all.map((name) => [HEADER_NAMES[name], { $ref: `#/components/headers/${name}` }]));
}
