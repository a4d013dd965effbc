// The outbox message that starts or signals the flow of one delivery.
import type { FlowMessage } from '../workflows/flows.ts';
import { deliveryChanged, type WebhookDeliveryInput } from '../workflows/webhookDelivery/messages.ts';

export const deliveryFlowId = ({ eventId, endpointId }: Pick<WebhookDeliveryInput, 'eventId' | 'endpointId'>): string =>
  `${eventId}/${endpointId}`;

/**
 * One flow per delivery: its id is made of the event and the endpoint. It may be restarted after it ended, for a
 * redelivery. `changed` adds the signal, which wakes a running flow.
 */
export function webhookDeliveryFlow(input: WebhookDeliveryInput, change?: 'changed'): FlowMessage {
  return {
    workflow: 'webhookDelivery',
    id: deliveryFlowId(input),
    summary: `${input.eventType} ${input.eventId} to ${input.endpointId}`,
    state: 'retrying',
    input,
    allowRestart: true, // after a redelivery was requested
    ...(change && { signal: { name: deliveryChanged.name, payload: null } }),
  };
}
