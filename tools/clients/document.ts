// The OpenAPI document as the writers of clients read it: a list of operations, and the schemas.
import { readFileSync } from 'node:fs';

export type Json = { [key: string]: unknown };

export interface Operation {
  operationId: string;
  method: string;
  path: string;
  summary: string;
  description?: string;
  tag: string;
  scope: string;
  isPublic: boolean;
  isIdempotent: boolean;
  isPaginated: boolean;
  pathParameters: string[];
  queryParameters: { name: string; required: boolean; schema: Json }[];
  body: { schema: Json; required: boolean } | null;
  status: number;
  response: Json;
  requestExample: unknown;
  responseExample: unknown;
}

export interface ClientDocument {
  info: { title: string; version: string; summary: string; description: string };
  tags: { name: string; description: string }[];
  operations: Operation[];
  events: { type: string; summary: string }[];
  schemas: Record<string, Json>;
  errorCodes: string[];
}

interface Content {
  content: { 'application/json': { schema: Json; example?: unknown }; 'text/csv'?: Json };
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema: Json;
}

interface RawOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  security: { apiKey?: string[] }[];
  parameters?: Parameter[];
  requestBody?: Content & { required: boolean };
  responses: Record<string, Content>;
}

interface RawDocument extends Pick<ClientDocument, 'info' | 'tags'> {
  paths: Record<string, Record<string, RawOperation>>;
  webhooks: Record<string, { post: { summary: string } }>;
  components: { schemas: Record<string, Json>; parameters: Record<string, Parameter>; responses: Json };
}

export const OPENAPI = new URL('../../generated/openapi.json', import.meta.url);

export function readDocument(): ClientDocument {
  const raw = JSON.parse(readFileSync(OPENAPI, 'utf8')) as RawDocument;
  const operations = Object.entries(raw.paths).flatMap(([path, ofPath]) =>
    Object.entries(ofPath).map(([method, operation]) => readOperation(raw, path, method, operation)),
  );
  return {
    info: raw.info,
    tags: raw.tags.filter(({ name }) => operations.some(({ tag }) => tag === name)),
    operations,
    events: Object.entries(raw.webhooks).map(([type, { post }]) => ({ type, summary: post.summary })),
    schemas: raw.components.schemas,
    errorCodes: errorCodesOf(raw.components.responses),
  };
}

/** Every code that an error response names. */
function errorCodesOf(responses: Json): string[] {
  const codes = [...JSON.stringify(responses).matchAll(/"code":\{"enum":\[([^\]]*)\]/g)];
  return [...new Set(codes.flatMap(([, list]) => JSON.parse(`[${list}]`) as string[]))].toSorted();
}

function readOperation(raw: RawDocument, path: string, method: string, operation: RawOperation): Operation {
  const parameters = (operation.parameters ?? []).map((parameter) => {
    if (parameter.$ref === undefined) return parameter;
    const referred = raw.components.parameters[parameter.$ref.split('/').at(-1) ?? ''];
    if (referred === undefined) throw new Error(`no parameter ${parameter.$ref}`);
    return referred;
  });
  const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [];
  if (success === undefined) throw new Error(`${operation.operationId} has no success`);
  const { schema, example } = success.content['application/json'];
  const body = operation.requestBody;
  return {
    operationId: operation.operationId,
    method,
    path,
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    tag: operation.tags[0],
    scope: operation.security[0]?.apiKey?.[0] ?? '',
    isPublic: operation.security.length === 0,
    isIdempotent: parameters.some(({ name }) => name === 'Idempotency-Key'),
    isPaginated: 'pagination' in (schema.properties as Json),
    pathParameters: parameters.filter((each) => each.in === 'path').map(({ name }) => name),
    // A query goes with an uploaded file, and the clients send JSON.
    queryParameters: parameters
      .filter((each) => each.in === 'query' && body?.content['text/csv'] === undefined)
      .map(({ name, required = false, schema: type }) => ({ name, required, schema: type })),
    body: body === undefined ? null : { schema: body.content['application/json'].schema, required: body.required },
    status: Number(status),
    response: schema,
    requestExample: body?.content['application/json'].example,
    responseExample: example,
  };
}
