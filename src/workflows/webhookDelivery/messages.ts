// The messages of the flow that delivers one event to one endpoint after its first attempt.
import { defineSignal } from '@temporalio/workflow';
import type { FlowScope } from '../flows.ts';

export type DeliveryFailure = 'retries_exhausted' | 'endpoint_disabled' | 'endpoint_deleted';

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

export interface WebhookActivities {
  /** Makes the attempt that is due, or says how the delivery has ended. */
  deliverWebhook: (input: WebhookDeliveryInput) => Promise<WebhookDeliveryResult>;
  /** An operator has a delivery that was given up tried anew, by the whole schedule. */
  reopenDelivery: (input: WebhookDeliveryInput) => Promise<void>;
}
