// The messages of the flow that delivers one event to one endpoint after its first attempt.
import { defineSignal } from '@temporalio/workflow';
import type { DeliveryFailure } from '../../records/webhookDeliveries.ts';
import type { FlowMessage, FlowScope } from '../flows.ts';

export interface WebhookDeliveryInput extends FlowScope {
  eventId: string;
  endpointId: string;
  eventType: string;
}

/** How it ended. `answer` says what the endpoint did at the last attempt of this flow, in two words. */
export interface WebhookDeliveryResult {
  status: 'delivered' | 'failed';
  reason?: DeliveryFailure;
  answer: string | null;
}

/** A redelivery was asked for, or the endpoint was closed. It says no more than that: the flow reads the delivery's row. */
export const deliveryChanged = defineSignal('deliveryChanged');

export const deliveryFlowId = ({ eventId, endpointId }: Pick<WebhookDeliveryInput, 'eventId' | 'endpointId'>): string =>
  `${eventId}/${endpointId}`;

/**
 * One flow a delivery: its id names the event and the endpoint. After it ended, a redelivery may need it again; with
 * news it wakes one that runs.
 */
export function webhookDeliveryFlow(input: WebhookDeliveryInput, news?: 'news'): FlowMessage {
  return {
    workflow: 'webhookDelivery',
    id: deliveryFlowId(input),
    summary: `${input.eventType} ${input.eventId} to ${input.endpointId}`,
    state: 'retrying',
    input,
    again: true, // after a redelivery was asked for
    ...(news && { signal: { name: deliveryChanged.name, payload: null } }),
  };
}
