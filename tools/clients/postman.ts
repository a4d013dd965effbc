// The Postman collection (format 2.1) of the OpenAPI document: a folder for each tag, with the recorded examples as
// bodies and saved responses. Bruno, Insomnia and others import it too.
import { createHash } from 'node:crypto';
import type { ClientDocument, Operation } from './document.ts';

export function postmanCollection(document: ClientDocument): object {
  return {
    info: {
      name: document.info.title,
      // The same in every run: Postman updates a collection by its id.
      _postman_id: uuidOf(document.info.title),
      description: document.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: 'http://127.0.0.1:8080/v1' },
      { key: 'apiKey', value: '' },
    ],
    item: document.tags.map(({ name, description }) => ({
      name,
      description,
      item: document.operations.filter(({ tag }) => tag === name).map(requestItem),
    })),
  };
}

function requestItem(operation: Operation): object {
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
  const { requestExample } = operation;
  const request = {
    method: operation.method.toUpperCase(),
    description: operation.description ?? operation.summary,
    ...(operation.isPublic && { auth: { type: 'noauth' } }),
    header: [
      ...(requestExample === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
      ...(operation.isIdempotent ? [{ key: 'Idempotency-Key', value: '{{$guid}}' }] : []),
    ],
    url: {
      raw: `{{baseUrl}}${path}`,
      host: ['{{baseUrl}}'],
      path: path.slice(1).split('/'),
      variable: operation.pathParameters.map((key) => ({ key, value: '' })),
      query: operation.queryParameters.map(({ name, required, schema }) => ({
        key: schema.type === 'object' ? `${name}[key]` : name,
        value: '',
        disabled: !required,
      })),
    },
    ...(requestExample !== undefined && {
      body: { mode: 'raw', raw: JSON.stringify(requestExample, null, 2), options: { raw: { language: 'json' } } },
    }),
  };
  return {
    name: operation.summary,
    request,
    response: [
      {
        name: `${operation.status}`,
        originalRequest: request,
        status: operation.status === 201 ? 'Created' : operation.status === 202 ? 'Accepted' : 'OK',
        code: operation.status,
        header: [{ key: 'Content-Type', value: 'application/json; charset=utf-8' }],
        _postman_previewlanguage: 'json',
        body: JSON.stringify(operation.responseExample, null, 2),
      },
    ],
  };
}

function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
