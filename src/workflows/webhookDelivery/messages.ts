// The messages of the flow that delivers one event to one endpoint after its first attempt.
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

/** One flow a delivery: its id names the event and the endpoint. After it ended, a redelivery may need it again. */
export function webhookDeliveryFlow(input: WebhookDeliveryInput): FlowMessage {
  return {
    workflow: 'webhookDelivery',
    id: `${input.eventId}/${input.endpointId}`,
    summary: `${input.eventType} ${input.eventId} to ${input.endpointId}`,
    state: 'retrying',
    input,
    again: true, // after a redelivery was asked for
  };
}
