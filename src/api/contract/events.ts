// The schemas of events and of their deliveries (contract, section 6). Movements write an event's `data`, and the tests
// check every event that they cause against its schema.
import { z } from 'zod';
import { DEBIT_REASONS } from '../../resources/bankTransfers/movements.ts';
import { EVENT_TYPES, type EventType, TEST_EVENT_TYPE } from '../../resources/events.ts';
import { anyPublicId, currency, kobo, publicIdOf, time } from '../../resources/publicFields.ts';
import {
  creditOfEvent,
  hold,
  paymentOfEvent,
  payoutItemOfEvent,
  payoutOfEvent,
  refund,
  reviewCase,
  sender,
  transfer,
  walletStatus,
  webhookEndpoint,
  withdrawal,
} from '../../resources/publicSchemas.ts';
import { ATTEMPT_ERRORS, DELIVERY_FAILURES, DELIVERY_STATUSES } from '../../webhooks/deliveries.ts';

const paymentData = paymentOfEvent.extend({
  credit: creditOfEvent.optional().describe('The credit that caused the event, if one did'),
});
const ofWallet = { walletId: publicIdOf('wallet'), status: walletStatus.describe('Of the wallet, at that moment') };
const reviewCaseData = reviewCase.extend({
  credit: creditOfEvent.optional().describe('The credit that the case is about, when it is opened with it'),
});

type Described = readonly [summary: string, data: z.ZodType];

/** Every event type: when it is sent, and its `data`. */
export const EVENTS: Readonly<Record<EventType | typeof TEST_EVENT_TYPE, Described>> = {
  'payment.settled': ['A credit settled a payment, or left it partial: see status', paymentData],
  'payment.completed': ['A payment became `settled`: sent once', paymentData],
  'payment.expired': ['A payment expired before it was paid in full', paymentData],
  'payment.cancelled': ['You cancelled a payment before any money came', paymentData],
  'payment.in_review': ['Received money of a payment waits for a decision: see amountInReview', paymentData],
  'payment.reviewed': ['Money of a payment was decided in review, without settling the payment', paymentData],
  'payment.recalled': ['The bank took back money of a payment: see amountReceived and amountRecalled', paymentData],
  'withdrawal.completed': ['The bank paid a withdrawal', withdrawal],
  'withdrawal.failed': ['The bank refused a withdrawal; its money is back in the wallet', withdrawal],
  'withdrawal.returned': ['The receiving bank returned a withdrawal; its money is back in the wallet', withdrawal],
  'transfer.completed': ['Money moved between two wallets', transfer],
  'hold.created': ['Money is held for a wallet', hold],
  'hold.released': ['Held money, or a part of it, is in the balance of its wallet: see amountReleased', hold],
  'hold.cancelled': ['Held money, or a part of it, went back: see amountCancelled', hold],
  'refund.completed': ['A refund was paid', refund],
  'refund.failed': ['A refund was not paid; its money is back in the wallet', refund],
  'payout.completed': ['Every item of a payout was paid', payoutOfEvent],
  'payout.partially_completed': ['Every item of a payout has ended, some without payment', payoutOfEvent],
  'payout.failed': ['No item of a payout was paid', payoutOfEvent],
  'payout.item_completed': ['An item of a payout was paid', payoutItemOfEvent],
  'payout.item_failed': ['An item of a payout was not paid; its money is back in the wallet', payoutItemOfEvent],
  'payout.item_returned': ['The bank returned an item of a payout; its money is back in the wallet', payoutItemOfEvent],
  'wallet.credited': [
    "Money came to a wallet's own account number, a split of a payment to its wallet, or fees to the settlement wallet",
    z.object({
      ...ofWallet,
      inboundCreditId: publicIdOf('inboundCredit').nullable(),
      feeSweepId: publicIdOf('feeSweep').optional().describe('Only where fees were swept to the settlement wallet'),
      payoutItemId: publicIdOf('payoutItem').optional().describe('Only of a payout item posted inside the book'),
      paymentId: publicIdOf('payment').optional().describe('Only of a split: the payment whose part it is'),
      reference: z.string().nullable().optional().describe('Of that payment'),
      amount: kobo,
      currency,
      sessionId: z.string().nullable(),
      sender: sender.optional().describe('Only of an inbound credit'),
      receivedAt: time.optional().describe('When the bank received an inbound credit'),
    }),
  ],
  'wallet.debited': [
    'The bank paid a transfer after it had reported its failure, or took a credit back; or a credit repaid a debt',
    z.object({
      ...ofWallet,
      transferId: anyPublicId.optional().describe('The withdrawal, refund or payout item that was paid after all'),
      inboundCreditId: publicIdOf('inboundCredit').optional().describe('The credit that the bank took back'),
      debtRecoveryId: publicIdOf('debtRecovery').optional().describe('The repayment: the `resourceId` of its entry'),
      reason: z.enum(DEBIT_REASONS).describe('debt_recovery: a credit to the wallet repaid what it owes'),
      amount: kobo.describe('What was taken from the wallet, in kobo'),
      missing: kobo.describe('What could not be taken, in kobo; of a debt_recovery, what is still owed'),
      currency,
    }),
  ],
  'wallet.adjusted': [
    "Operators corrected a wallet's balance",
    z.object({
      ...ofWallet,
      adjustmentId: publicIdOf('adjustment'),
      reversesAdjustmentId: publicIdOf('adjustment').nullable(),
      correctsResourceId: anyPublicId.nullable().describe('What it corrects'),
      description: z.string().nullable(),
      direction: z.enum(['credit', 'debit']),
      amount: kobo,
      currency,
    }),
  ],
  'wallet.frozen': ['Operators froze a wallet', z.object(ofWallet)],
  'wallet.unfrozen': ['A frozen wallet is active again', z.object(ofWallet)],
  'wallet.closed': ['Operators closed a wallet', z.object(ofWallet)],
  'review_case.opened': ['Money went to suspense, or a credit was not confirmed', reviewCaseData],
  'review_case.resolved': ['A review case was decided', reviewCaseData],
  'webhook_endpoint.failing': ['Every attempt at another endpoint has failed for an hour', webhookEndpoint],
  'webhook_endpoint.disabled': ['Every attempt at an endpoint has failed for five days', webhookEndpoint],
  [TEST_EVENT_TYPE]: ['You requested it, for one endpoint', webhookEndpoint],
};

/** The name of an event's schema: `PaymentSettledEvent`. */
export const eventSchemaName = (type: string): string =>
  `${type
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Event`;

const eventOf = <Type extends keyof typeof EVENTS>(type: Type) =>
  z
    .object({
      id: publicIdOf('event'),
      type: z.literal(type),
      createdAt: time,
      resourceId: anyPublicId.describe('What the event is about'),
      sequence: z
        .number()
        .int()
        .describe('Rises by one with every event of the resource: an event with a lower one has an older state'),
      data: EVENTS[type][1],
    })
    .meta({ id: eventSchemaName(type), description: EVENTS[type][0] });

const [first, ...others] = ([...EVENT_TYPES, TEST_EVENT_TYPE] as const).map((type) => eventOf(type));
if (first === undefined) throw new Error('there is no event type');

export const event = z.discriminatedUnion('type', [first, ...others]).meta({ id: 'Event' });

export const delivery = z
  .object({
    eventId: publicIdOf('event'),
    endpointId: publicIdOf('webhookEndpoint'),
    status: z.enum(DELIVERY_STATUSES),
    failureReason: z.enum(DELIVERY_FAILURES).nullable(),
    nextAttemptAt: time.nullable(),
    deliveredAt: time.nullable(),
    createdAt: time,
    attempts: z.array(
      z.object({
        attemptedAt: time,
        durationMs: z.number(),
        responseStatus: z.number().int().nullable(),
        responseBody: z.string().nullable().describe('Its first 1,000 characters'),
        error: z.enum(ATTEMPT_ERRORS).nullable().describe('Why there was no response'),
      }),
    ),
  })
  .meta({ id: 'Delivery', description: 'An event on its way to one endpoint, with its latest 25 attempts' });

export const redelivery = z
  .object({ eventId: publicIdOf('event'), endpointIds: z.array(publicIdOf('webhookEndpoint')) })
  .meta({ id: 'Redelivery' });

export const endpointRedelivery = z
  .object({
    endpointId: publicIdOf('webhookEndpoint'),
    deliveries: z.number().int().describe('How many events are sent again'),
    continueFrom: time.nullable().describe('Not null: there are more; send the request again with this as `since`'),
  })
  .meta({ id: 'EndpointRedelivery' });

export const webhookEndpointWithSecret = webhookEndpoint
  .extend({ secret: z.string().describe('Signs the deliveries; shown only in this response') })
  .meta({ id: 'WebhookEndpointWithSecret' });

export const deletedWebhookEndpoint = z
  .object({ id: publicIdOf('webhookEndpoint'), deleted: z.literal(true) })
  .meta({ id: 'DeletedWebhookEndpoint' });
