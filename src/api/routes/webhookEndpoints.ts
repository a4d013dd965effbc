// Webhook endpoints (docs/webhooks.md): the URLs that receive an organisation's events. A secret is returned only once,
// when it is created.
import { z } from 'zod';
import { newUuid, parseId, publicId, type Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { EVENT_TYPES, insertTestEvent, TEST_EVENT_TYPE } from '../../resources/events.ts';
import { destinationProblem, destinationRules } from '../../webhooks/destination.ts';
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  insertWebhookEndpoint,
  listWebhookEndpoints,
  rotateWebhookSecret,
  updateWebhookEndpoint,
  WEBHOOK_ENDPOINTS_MAX,
  type WebhookEndpoint,
} from '../../webhooks/endpoints.ts';
import { newWebhookSecret, ROTATION_OVERLAP_MS } from '../../webhooks/signature.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError, notFound } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { createdFilters, optional, optionalOr, text } from '../schemas.ts';
import { eventView, webhookEndpointView } from '../views.ts';

const url = text(2048).refine((value) => /^https?:\/\/\S+$/i.test(value) && URL.canParse(value), {
  message: 'must be an absolute http or https URL',
  params: { code: 'invalid_string', constraint: { format: 'url' } },
  when: ({ issues }) => issues.length === 0, // report one error per string
});

/** Null: all types, including those added later. */
const eventTypes = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .transform((types) => [...new Set(types)]);

const status = z.enum(['enabled', 'disabled']);

const create = route({
  method: 'post',
  path: '/webhook-endpoints',
  access: 'webhook',
  body: z.strictObject({
    url,
    description: optional(text(500)),
    eventTypes: optional(eventTypes),
    status: optionalOr(status, 'enabled'),
  }),
  handle: async ({ dependencies, caller, body }) => {
    requireDestination(dependencies, caller.book, body.url);
    const endpoint: WebhookEndpoint = {
      id: newUuid(),
      url: body.url,
      description: body.description ?? null,
      eventTypes: body.eventTypes ?? null,
      status: body.status,
      previousSecretUntil: null,
      createdAt: new Date(),
    };
    const { secret, sealed } = newSecret(dependencies, endpoint.id);
    if (!(await insertWebhookEndpoint(dependencies.sql, caller.book, endpoint, sealed))) {
      throw new ApiError('WEBHOOK_ENDPOINT_LIMIT_REACHED', { limit: WEBHOOK_ENDPOINTS_MAX });
    }
    return { status: 201, data: { ...webhookEndpointView(endpoint), secret } };
  },
});

const list = listRoute({
  path: '/webhook-endpoints',
  access: 'webhook',
  filters: createdFilters,
  find: ({ dependencies, caller }, filters, page) => listWebhookEndpoints(dependencies.sql, caller.book, filters, page),
  view: webhookEndpointView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/webhook-endpoints/:id',
  access: 'webhook',
  handle: async (call) => ({ status: 200, data: webhookEndpointView(await requireEndpoint(call)) }),
});

const update = route({
  method: 'patch',
  path: '/webhook-endpoints/:id',
  access: 'webhook',
  body: z.strictObject({
    url: optional(url),
    // For these two, null clears the value; omitting the field leaves it unchanged.
    description: text(500).nullish(),
    eventTypes: eventTypes.nullish(),
    status: optional(status),
  }),
  handle: async (call) => {
    const { dependencies, caller, body } = call;
    if (body.url !== undefined) requireDestination(dependencies, caller.book, body.url);
    const endpoint = await updateWebhookEndpoint(dependencies.sql, caller.book, requireId(call), body);
    return { status: 200, data: webhookEndpointView(orNotFound(call, endpoint)) };
  },
});

const remove = route({
  method: 'delete',
  path: '/webhook-endpoints/:id',
  access: 'webhook',
  handle: async (call) => {
    const id = requireId(call);
    const deleted = await deleteWebhookEndpoint(call.dependencies.sql, call.caller.book, id);
    orNotFound(call, deleted ? id : null);
    return { status: 200, data: { id: publicId('webhookEndpoint', id), deleted: true } };
  },
});

const rotate = route({
  method: 'post',
  path: '/webhook-endpoints/:id/rotate-secret',
  access: 'webhook',
  body: z.strictObject({}).optional(),
  handle: async (call) => {
    const { dependencies, caller } = call;
    const id = requireId(call);
    const { secret, sealed } = newSecret(dependencies, id);
    const previousUntil = new Date(Date.now() + ROTATION_OVERLAP_MS);
    const endpoint = await rotateWebhookSecret(dependencies.sql, caller.book, id, sealed, previousUntil);
    return { status: 200, data: { ...webhookEndpointView(orNotFound(call, endpoint)), secret } };
  },
});

const sendTest = route({
  method: 'post',
  path: '/webhook-endpoints/:id/test',
  access: 'webhook',
  body: z.strictObject({}).optional(),
  handle: async (call) => {
    const { dependencies, caller } = call;
    const endpoint = await requireEndpoint(call);
    const endpointId = publicId('webhookEndpoint', endpoint.id);
    if (endpoint.status === 'disabled') throw new ApiError('WEBHOOK_ENDPOINT_DISABLED', { endpointId });
    const event = { id: newUuid(), type: TEST_EVENT_TYPE, data: { id: endpointId }, createdAt: new Date() };
    await insertTestEvent(dependencies.sql, caller.book, endpoint.id, event);
    return { status: 202, data: eventView(event) };
  },
});

/** Checks the URL of an endpoint. Throws WEBHOOK_URL_FORBIDDEN. */
function requireDestination({ config }: ApiDependencies, book: Book, target: string): void {
  const reason = destinationProblem(new URL(target), destinationRules(book.environment, config.webhooks));
  if (reason !== null) throw new ApiError('WEBHOOK_URL_FORBIDDEN', { reason });
}

/** A new secret, in plain text for the response and sealed for the database. */
function newSecret({ keyring }: ApiDependencies, endpointId: Uuid): { secret: string; sealed: string } {
  const secret = newWebhookSecret();
  return { secret, sealed: keyring.seal('webhook-secret', endpointId, secret) };
}

/** Returns what was found by the id of the path. Throws WEBHOOK_ENDPOINT_NOT_FOUND for null. */
function orNotFound<Found>({ params }: Call<unknown, unknown>, found: Found | null): Found {
  if (found === null) throw notFound('webhook_endpoint', params.id ?? '');
  return found;
}

const requireId = (call: Call<unknown, unknown>): Uuid =>
  orNotFound(call, parseId('webhookEndpoint', call.params.id ?? ''));

/** Reads the endpoint of the path. Throws WEBHOOK_ENDPOINT_NOT_FOUND. */
const requireEndpoint = (call: Call<unknown, unknown>): Promise<WebhookEndpoint> =>
  requireRow(call, 'webhook_endpoint', call.params.id ?? '', findWebhookEndpoint);

export const webhookEndpointRoutes: Route[] = [create, list, read, update, remove, rotate, sendTest];
