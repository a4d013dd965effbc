// How the flow of one delivery is started.
import type { FlowMessage } from '../workflows/flows.ts';
import { deliveryChanged, type WebhookDeliveryInput } from '../workflows/webhookDelivery/messages.ts';

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
    allowRestart: true, // after a redelivery was asked for
    ...(news && { signal: { name: deliveryChanged.name, payload: null } }),
  };
}
