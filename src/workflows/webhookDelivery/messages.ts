// The messages of the flow that delivers one event to one endpoint after the first attempt.
import { defineSignal } from '@temporalio/workflow';
import type { FlowScope } from '../flows.ts';

export type DeliveryFailure = 'retries_exhausted' | 'endpoint_disabled' | 'endpoint_deleted';

export interface WebhookDeliveryInput extends FlowScope {
  eventId: string;
  endpointId: string;
  eventType: string;
}

/** How the delivery ended. `answer` is the endpoint's response to the last attempt of this flow, in two words. */
export interface WebhookDeliveryResult {
  status: 'delivered' | 'failed';
  reason?: DeliveryFailure;
  answer: string | null;
}

/** A redelivery was requested. No data: the flow reads the delivery's row. */
export const deliveryChanged = defineSignal('deliveryChanged');

/** The type of the failure of an attempt that another follows, for days if need be. */
export const WEBHOOK_UNDELIVERED = 'WEBHOOK_UNDELIVERED';

export interface WebhookActivities {
  /** Makes the attempt that is due, or returns how the delivery ended. */
  deliverWebhook: (input: WebhookDeliveryInput) => Promise<WebhookDeliveryResult>;
}
