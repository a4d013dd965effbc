// Checks every answer that the tests receive against the OpenAPI document: its operation, status, error code, headers
// and body, or the columns of a file. In the document objects are open, because fields may be added later; here an
// undocumented field is an error.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'csv-parse/sync';
import { eventView } from '../../src/api/views.ts';
import type { Environment } from '../../src/money.ts';
import type { Event } from '../../src/resources/events.ts';

type Json = { [key: string]: unknown };

interface DocumentedResponse {
  headers: Record<string, { $ref: string }>;
  content: Record<string, { schema: Json }>;
}

interface Operation {
  operationId: string;
  responses: Record<string, DocumentedResponse | { $ref: string }>;
  'x-environments'?: readonly Environment[];
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: {
    responses: Record<string, DocumentedResponse>;
    headers: Record<string, { required?: boolean }>;
    schemas: Record<string, Json>;
  };
}

export interface DocumentedRequest {
  method: string;
  /** Below `/v1`, with its query string. */
  path: string;
  environment: Environment;
}

interface ReceivedAnswer {
  status: number;
  headers: Headers;
  body: Json;
}

export const openApi = JSON.parse(
  readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8'),
) as OpenApi;

// Each process of Jest compiles what it needs, which costs more than all that it then validates. The document itself
// is linted (redocly).
const FAST_TO_COMPILE = { inlineRefs: false, validateSchema: false, code: { optimize: false } } as const;

const validator = new Ajv2020({ strict: false, allErrors: true, ...FAST_TO_COMPILE });
addFormats.default(validator);
validator.addSchema({ ...(closed(openApi) as Json), $id: 'openapi' });

/** Closes every object, except those that add to another schema in an `allOf`. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const { allOf, ...others } = node as Json;
  const result = Object.fromEntries(Object.entries(others).map(([key, value]) => [key, closed(value)]));
  if (typeof result.properties === 'object') result.additionalProperties ??= false;
  return allOf === undefined ? result : { ...result, allOf };
}

const operations = Object.entries(openApi.paths).flatMap(([template, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({
    template,
    method: method.toUpperCase(),
    pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    operation,
  })),
);

/** The documented operation of a request; undefined when its host has none. */
export function operationOf({ method, path, environment }: DocumentedRequest): Operation | undefined {
  // As it is sent: `/..` is resolved by the client, and may lead out of `/v1`.
  const pathname = /^\/v1(\/.*)/.exec(new URL(`/v1${path}`, 'http://127.0.0.1').pathname)?.[1] ?? '';
  return operations.find(
    (each) =>
      each.method === method &&
      each.pattern.test(pathname) &&
      (each.operation['x-environments']?.includes(environment) ?? true),
  )?.operation;
}

/** The request of a start line, like `GET /v1/wallets HTTP/1.1`; undefined when it is not below `/v1`. */
export function requestOfLine(line: string, environment: Environment): DocumentedRequest | undefined {
  const [, method, path] = /^(\S+) \/v1(\/\S*) HTTP\//.exec(line) ?? [];
  return method === undefined || path === undefined ? undefined : { method, path, environment };
}

const violationOf = (request: DocumentedRequest, status: number, body: unknown) => (problem: string) =>
  new Error(`${problem}: ${request.method} ${request.path} ${status} ${JSON.stringify(body)}`);

/** Throws when the document has no such answer. */
export function checkDocumented(request: DocumentedRequest, answer: ReceivedAnswer): void {
  const violation = violationOf(request, answer.status, answer.body);
  const operation = operationOf(request);
  const code = (answer.body.error as { code?: string } | undefined)?.code;
  if (operation === undefined) {
    // An unknown route, or a path that cannot be decoded.
    if (code !== 'ROUTE_NOT_FOUND' && code !== 'VALIDATION_FAILED') throw violation('no documented operation answers');
    return;
  }
  const documented = operation.responses[answer.status];
  if (documented === undefined) throw violation('undocumented status');
  const [place, response] =
    '$ref' in documented
      ? [documented.$ref, openApi.components.responses[String(documented.$ref).split('/').at(-1) ?? '']]
      : [`#/paths/${pointer(request, operation)}/responses/${answer.status}`, documented];
  if (response === undefined) throw violation('unresolved response');
  const problem = problemOf(`${place}/content/application~1json/schema`, answer.body);
  if (problem !== null) throw violation(problem);
  const problemOfHeaders = headerProblem(response, answer.headers);
  if (problemOfHeaders !== null) throw violation(problemOfHeaders);
}

/** Throws when the document has no such file. Its columns are the fields of the list's items. */
export function checkDocumentedFile(
  request: DocumentedRequest,
  { status, headers, text }: { status: number; headers: Headers; text: string },
): void {
  const violation = violationOf(request, status, text.slice(0, 1_000));
  const response = operationOf(request)?.responses[status];
  if (response === undefined || '$ref' in response) throw violation('undocumented status of a file');
  const type = headers.get('content-type') ?? '';
  if (response.content[type.replace('; charset=utf-8', '')] === undefined) throw violation('undocumented content type');
  const problem = headerProblem(response, headers);
  if (problem !== null) throw violation(problem);
  if (type === 'application/pdf') return;
  if (type !== 'text/csv; charset=utf-8') throw violation('not the content type of a file');
  if (!text.endsWith('\r\n')) throw violation('the file does not end with a line');
  const [header, ...rows] = parse(text); // throws when a row has more or fewer cells
  const items = field(field(response.content['application/json']?.schema, 'data'), ITEMS);
  if (items === undefined) return; // not of a list
  const columns = columnsOf(items);
  const missing = columns.filter(({ isList, path }) => !isList && !header?.includes(path)).map(({ path }) => path);
  const unknown = header?.filter((name) => !columns.some(({ path }) => path === name)) ?? [];
  if (missing.length > 0 || unknown.length > 0) {
    throw violation(`columns: ${missing.join()} missing, ${unknown.join()} unknown`);
  }
  if (rows.some((row) => row[0] === '')) throw violation('a row without its id');
}

const ITEMS = Symbol('the items of a list');

/** The schema behind a reference, or of the first type where another is null; of one of several, what they share. */
function resolved(schema: Json | undefined): Json {
  const { $ref, anyOf, allOf, oneOf } = (schema ?? {}) as {
    $ref?: string;
    anyOf?: Json[];
    allOf?: Json[];
    oneOf?: Json[];
  };
  if ($ref !== undefined) return resolved(openApi.components.schemas[$ref.split('/').at(-1) ?? '']);
  if (anyOf !== undefined) {
    const [first, ...others] = anyOf.filter(({ type }) => type !== 'null');
    return others.length === 0 ? resolved(first) : {};
  }
  if (oneOf !== undefined) {
    const [first = {}, ...others] = oneOf.map((each) => (resolved(each).properties ?? {}) as Record<string, Json>);
    const isShared = (name: string): boolean => others.every((other) => isDeepStrictEqual(other[name], first[name]));
    return {
      properties: Object.fromEntries(Object.entries(first).map(([name, each]) => [name, isShared(name) ? each : {}])),
    };
  }
  if (allOf === undefined) return schema ?? {};
  return {
    ...schema,
    properties: Object.assign({}, schema?.properties, ...allOf.map((each) => resolved(each).properties)),
  };
}

function field(schema: Json | undefined, name: string | typeof ITEMS): Json | undefined {
  const { properties, items } = resolved(schema) as { properties?: Record<string, Json>; items?: Json };
  return name === ITEMS ? items : properties?.[name];
}

/** The paths of a schema's fields, as a file has them: objects are flattened. A list of objects may be left out. */
function columnsOf(schema: Json | undefined): { path: string; isList: boolean }[] {
  const { properties, type } = resolved(schema) as { properties?: Record<string, Json>; type?: string };
  if (properties === undefined) return [{ path: '', isList: type === 'array' }];
  const fields = Object.entries(properties).filter(([name]) => !(`${name}Id` in properties)); // without what expand adds
  return fields.flatMap(([name, each]) =>
    columnsOf(each).map(({ path, isList }) => ({ path: path === '' ? name : `${name}.${path}`, isList })),
  );
}

function pointer(request: DocumentedRequest, operation: Operation): string {
  const found = operations.find((each) => each.operation === operation);
  return `${(found?.template ?? '').replaceAll('/', '~1')}/${request.method.toLowerCase()}`;
}

const validators = new Map<string, ValidateFunction>();

function problemOf(place: string, value: unknown): string | null {
  let validate = validators.get(place);
  if (validate === undefined) {
    validate = validator.compile({ $ref: `openapi${place}` });
    validators.set(place, validate);
  }
  return validate(value) ? null : `not as documented (${validator.errorsText(validate.errors?.slice(0, 3))})`;
}

/** The headers that the document describes, by their lower-case names. */
const OWN_HEADERS = /^(x-.*|retry-after|idempotent-replayed|link)$/;

function headerProblem(response: DocumentedResponse, headers: Headers): string | null {
  const documented = Object.entries(response.headers).map(([name, { $ref }]) => ({
    name: name.toLowerCase(),
    required: openApi.components.headers[$ref.split('/').at(-1) ?? '']?.required === true,
  }));
  const missing = documented.find(({ name, required }) => required && !headers.has(name));
  if (missing !== undefined) return `the header ${missing.name} is missing`;
  const names = [...headers.keys()].filter((name) => OWN_HEADERS.test(name));
  const unknown = names.find((name) => documented.every((each) => each.name !== name));
  return unknown === undefined ? null : `undocumented header ${unknown}`;
}

/** What is wrong with an event, by the schema of its type; null when nothing is. */
export const eventProblem = (event: Json): string | null => problemOf('#/components/schemas/Event', event);

/** An event as tests compare it. Throws when it is not as the OpenAPI document describes it. */
export function documentedEvent(event: Event): Pick<Event, 'type' | 'data'> {
  const problem = eventProblem(eventView(event));
  if (problem !== null) throw new Error(`the event ${event.type} is ${problem}: ${JSON.stringify(event.data)}`);
  return { type: event.type, data: event.data };
}
