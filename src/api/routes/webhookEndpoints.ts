// Webhook endpoints (docs/webhooks.md): the URLs that receive an organisation's events. A secret is returned only once,
// when it is created.
import { z } from 'zod';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { EVENT_TYPES, insertTestEvent, SEQUENCE_UNKNOWN, TEST_EVENT_TYPE } from '../../resources/events.ts';
import { webhookEndpoint } from '../../resources/publicSchemas.ts';
import { redeliverSince } from '../../webhooks/bulkRedelivery.ts';
import { listDeliveries } from '../../webhooks/deliveries.ts';
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
  webhookEndpointView,
} from '../../webhooks/endpoints.ts';
import { newWebhookSecret, ROTATION_OVERLAP_MS } from '../../webhooks/signature.ts';
import {
  deletedWebhookEndpoint,
  delivery,
  endpointRedelivery,
  event as eventSchema,
  webhookEndpointWithSecret,
} from '../contract/events.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { createdFilters, optional, optionalOr, optionalOrNull, text, timestamp, webUrl } from '../schemas.ts';
import { deliveryView, eventView } from '../views.ts';

/** Null: all types, including those added later. */
const eventTypes = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .transform((types) => [...new Set(types)]);

const status = z.enum(['enabled', 'disabled']);

const create = route({
  operationId: 'createWebhookEndpoint',
  success: { status: 201, data: webhookEndpointWithSecret },
  errors: ['WEBHOOK_URL_FORBIDDEN', 'WEBHOOK_ENDPOINT_LIMIT_REACHED'],
  endpoint: 'POST /webhook-endpoints',
  access: 'webhook',
  returnsSecret: true,
  body: z.strictObject({
    url: webUrl,
    description: optionalOrNull(text(500)),
    eventTypes: optionalOrNull(eventTypes),
    status: optionalOr(status, 'enabled'),
  }),
  handle: async ({ dependencies, sql, book, body, now, outcome }) => {
    requireDestination(dependencies, book, body.url);
    const endpoint = { ...body, id: newUuid(), failingSince: null, previousSecretUntil: null, createdAt: now };
    const secret = newWebhookSecret();
    const stored = sealed(dependencies, endpoint.id, secret);
    const data = { ...webhookEndpointView(endpoint), secret };
    if (!(await insertWebhookEndpoint(sql, book, endpoint, stored, outcome(data)))) {
      throw new ApiError('WEBHOOK_ENDPOINT_LIMIT_REACHED', { limit: WEBHOOK_ENDPOINTS_MAX });
    }
    return data;
  },
});

const reads = readRoutes({
  resource: 'webhook_endpoint',
  path: '/webhook-endpoints',
  access: 'webhook',
  item: webhookEndpoint,
  list: listWebhookEndpoints,
  find: findWebhookEndpoint,
  view: webhookEndpointView,
});

const update = route({
  operationId: 'updateWebhookEndpoint',
  success: { status: 200, data: webhookEndpoint },
  errors: ['WEBHOOK_URL_FORBIDDEN'],
  endpoint: 'PATCH /webhook-endpoints/:id',
  access: 'webhook',
  body: z.strictObject({
    url: optional(webUrl),
    // For these two, null clears the value; omitting the field leaves it unchanged.
    description: text(500).nullish(),
    eventTypes: eventTypes.nullish(),
    status: optional(status),
  }),
  handle: async (call) => {
    const { dependencies, book, body } = call;
    if (body.url !== undefined) requireDestination(dependencies, book, body.url);
    const endpoint = await requireRow(call, 'webhook_endpoint', (sql, book, id) =>
      updateWebhookEndpoint(sql, book, id, body),
    );
    return webhookEndpointView(endpoint);
  },
});

const remove = route({
  operationId: 'deleteWebhookEndpoint',
  success: { status: 200, data: deletedWebhookEndpoint },
  endpoint: 'DELETE /webhook-endpoints/:id',
  access: 'webhook',
  handle: async (call) => {
    const { id } = await requireRow(call, 'webhook_endpoint', deleteWebhookEndpoint);
    return { id: publicId('webhookEndpoint', id), deleted: true as const };
  },
});

const rotate = route({
  operationId: 'rotateWebhookSecret',
  success: { status: 200, data: webhookEndpointWithSecret },
  endpoint: 'POST /webhook-endpoints/:id/rotate-secret',
  access: 'webhook',
  returnsSecret: true,
  body: z.strictObject({}).optional(),
  handle: async (call) => {
    const { dependencies, now, outcome } = call;
    const secret = newWebhookSecret();
    const previousSecretUntil = new Date(now.getTime() + ROTATION_OVERLAP_MS);
    const endpoint = await requireEndpoint(call);
    const data = { ...webhookEndpointView({ ...endpoint, previousSecretUntil }), secret };
    await requireRow(call, 'webhook_endpoint', (sql, book, id) =>
      rotateWebhookSecret(sql, book, id, sealed(dependencies, id, secret), previousSecretUntil, outcome(data)),
    );
    return data;
  },
});

const sendTest = route({
  operationId: 'sendTestEvent',
  success: { status: 202, data: eventSchema },
  errors: ['WEBHOOK_ENDPOINT_DISABLED'],
  endpoint: 'POST /webhook-endpoints/:id/test',
  access: 'webhook',
  body: z.strictObject({}).optional(),
  handle: async (call) => {
    const endpoint = await requireEnabledEndpoint(call);
    const data = webhookEndpointView(endpoint);
    const event = { id: newUuid(), type: TEST_EVENT_TYPE, resource: data.id, data, createdAt: call.now };
    const sent = eventView({ ...event, sequence: SEQUENCE_UNKNOWN });
    sent.sequence = await insertTestEvent(call.sql, call.book, endpoint.id, event, call.outcome(sent));
    return sent;
  },
});

const readFailed = listRoute({
  operationId: 'listFailedDeliveries',
  item: delivery,
  path: '/webhook-endpoints/:id/failed-deliveries',
  access: 'webhook',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id } = await requireEndpoint(call);
    return await listDeliveries(call.sql, call.book, { failedAt: id }, filters, page);
  },
  view: deliveryView,
  positionOf: ({ createdAt, eventId }) => ({ createdAt, id: eventId }),
});

const redeliver = route({
  operationId: 'redeliverToEndpoint',
  success: { status: 202, data: endpointRedelivery },
  errors: ['WEBHOOK_ENDPOINT_DISABLED'],
  endpoint: 'POST /webhook-endpoints/:id/redeliver',
  access: 'webhook',
  idempotencyKey: 'none',
  body: z.strictObject({ since: timestamp }),
  handle: async (call) => {
    const { sql, book, body } = call;
    const endpoint = await requireEnabledEndpoint(call);
    const endpointId = publicId('webhookEndpoint', endpoint.id);
    const { redelivered, continueFrom } = await redeliverSince(sql, book, endpoint, body.since);
    return { endpointId, deliveries: redelivered, continueFrom: continueFrom?.toISOString() ?? null };
  },
});

/** Checks the URL of an endpoint. Throws WEBHOOK_URL_FORBIDDEN. */
function requireDestination({ config }: ApiDependencies, book: Book, target: string): void {
  const reason = destinationProblem(new URL(target), destinationRules(book.environment, config.webhooks));
  if (reason !== null) throw new ApiError('WEBHOOK_URL_FORBIDDEN', { reason });
}

/** A secret as the database has it. */
const sealed = ({ keyring }: ApiDependencies, endpointId: Uuid, secret: string): string =>
  keyring.seal('webhook-secret', endpointId, secret);

/** Reads the endpoint of the path. Throws WEBHOOK_ENDPOINT_NOT_FOUND. */
const requireEndpoint = (call: Call): Promise<WebhookEndpoint> =>
  requireRow(call, 'webhook_endpoint', findWebhookEndpoint);

/**
 * Reads an enabled endpoint, by default that of the path. Throws WEBHOOK_ENDPOINT_NOT_FOUND or
 * WEBHOOK_ENDPOINT_DISABLED.
 */
export async function requireEnabledEndpoint(call: Call, id?: string): Promise<WebhookEndpoint> {
  const endpoint = await requireRow(call, 'webhook_endpoint', findWebhookEndpoint, id);
  if (endpoint.status === 'enabled') return endpoint;
  throw new ApiError('WEBHOOK_ENDPOINT_DISABLED', { endpointId: publicId('webhookEndpoint', endpoint.id) });
}

export const webhookEndpointRoutes: Route[] = [
  create,
  ...reads,
  update,
  remove,
  rotate,
  sendTest,
  readFailed,
  redeliver,
];
