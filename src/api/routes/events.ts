// Events (contract, section 6): list and read events, list their webhook deliveries, and request a redelivery.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import { EVENT_TYPES, type Event, findEvent, listEvents, TEST_EVENT_TYPE } from '../../resources/events.ts';
import { listDeliveries, requestRedelivery } from '../../webhooks/deliveries.ts';
import { delivery, event as eventSchema, redelivery } from '../contract/events.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { createdFilters, id, optional, publicIdFilter } from '../schemas.ts';
import { deliveryView, eventView } from '../views.ts';
import { requireEnabledEndpoint } from './webhookEndpoints.ts';

const reads = readRoutes({
  resource: 'event',
  path: '/events',
  access: 'webhook',
  item: eventSchema,
  filters: {
    resourceId: publicIdFilter.describe('What the events are about; of a payment, also its review cases').optional(),
    type: z.enum([...EVENT_TYPES, TEST_EVENT_TYPE]).optional(),
  },
  list: listEvents,
  find: findEvent,
  view: eventView,
});

const readDeliveries = listRoute({
  operationId: 'listEventDeliveries',
  item: delivery,
  path: '/events/:id/deliveries',
  access: 'webhook',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id: eventId } = await requireEvent(call);
    return await listDeliveries(call.sql, call.book, { eventId }, filters, page);
  },
  view: deliveryView,
  positionOf: ({ createdAt, endpointId }) => ({ createdAt, id: endpointId }),
});

const redeliver = route({
  operationId: 'redeliverEvent',
  success: { status: 202, data: redelivery },
  errors: ['WEBHOOK_ENDPOINT_NOT_FOUND', 'WEBHOOK_ENDPOINT_DISABLED'],
  endpoint: 'POST /events/:id/redeliver',
  access: 'webhook',
  idempotencyKey: 'none',
  body: z.strictObject({ endpointId: optional(id) }).optional(),
  handle: async (call) => {
    const { sql, book, body } = call;
    const event = await requireEvent(call);
    const only = body?.endpointId === undefined ? undefined : await requireEnabledEndpoint(call, body.endpointId);
    const endpoints = await requestRedelivery(sql, book, event.id, only?.id);
    return {
      eventId: publicId('event', event.id),
      endpointIds: endpoints.map((endpoint) => publicId('webhookEndpoint', endpoint)),
    };
  },
});

/** Reads the event of the path. Throws EVENT_NOT_FOUND. */
const requireEvent = (call: Call): Promise<Event> => requireRow(call, 'event', findEvent);

export const eventRoutes: Route[] = [...reads, readDeliveries, redeliver];
