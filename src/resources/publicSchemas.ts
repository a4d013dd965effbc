// The schemas of the resources (contract, section 2), as responses and events have them. views.ts makes them from rows.
import { z } from 'zod';
import { LIMITS, TIERS } from '../ledger/limits.ts';
import { FEE_BEARERS } from '../workflows/payment/decide.ts';
import { EVENT_TYPES } from './events.ts';
import { FAILURE_CODES } from './failureCodes.ts';
import { HOLD_STATUSES } from './holds/queries.ts';
import { ON_MISMATCH } from './payments/queries.ts';
import { attached, currency, kobo, publicIdOf, time } from './publicFields.ts';
import { KEY_ACTIONS } from './reviewCases/actions.ts';
import { RETURN_FAILURES, REVIEW_REASONS, REVIEW_STATUSES } from './reviewCases/queries.ts';

export const walletStatus = z.enum(['active', 'frozen', 'closed']);

export const wallet = z
  .object({
    id: publicIdOf('wallet'),
    kind: z.enum(['settlement', 'end_user']).describe("settlement: the platform's own wallet, one per environment"),
    email: z.string(),
    fullName: z.string().nullable(),
    phone: z.string().nullable(),
    externalReference: z.string().nullable().describe('Your own id for the wallet, unique in the environment'),
    kycStatus: z.enum(['none', ...TIERS]),
    status: walletStatus.describe('frozen: no money moves for now; closed: for good. Reads still work'),
    heldBalance: kobo.describe('What is held for the wallet, in kobo: in its balance once it is released'),
    amountOwed: kobo.describe(
      'What the owner owes because the bank took credits back, in kobo: the next credits repay it',
    ),
    metadata: attached.metadata,
    currency,
    createdAt: time,
  })
  .meta({ id: 'Wallet' });

export const walletBalance = z
  .object({ walletId: publicIdOf('wallet'), balance: kobo, currency })
  .meta({ id: 'WalletBalance' });

export const walletLimits = z
  .object({
    walletId: publicIdOf('wallet'),
    tier: z.enum(TIERS).nullable().describe('Null: a settlement wallet, which has no limits'),
    limits: z.array(
      z.object({
        limit: z.enum(LIMITS).describe('An amount in kobo, or a count of transactions'),
        maximum: z.number().int(),
        used: z.number().int().nullable().describe('In this day or month of Lagos, with fees; null: of no period'),
        remaining: z.number().int(),
        resetsAt: time.nullable().describe('When the day or month ends'),
      }),
    ),
  })
  .meta({ id: 'WalletLimits' });

export const virtualAccount = z
  .object({
    accountNumber: z.string().regex(/^[0-9]{10}$/),
    bankName: z.string(),
    accountName: z.string().describe('What the payer sees at the bank'),
    expiresAt: time.nullable().describe('Null: permanent'),
  })
  .meta({ id: 'VirtualAccount', description: 'An account number to which money is sent by bank transfer' });

export const paymentMethod = z.enum(['bank_transfer', 'virtual_wallet']);
export const paymentStatus = z.enum([
  'pending',
  'partial',
  'settled',
  'expired',
  'cancelled',
  'failed',
  'refunded',
  'partially_refunded',
]);

/** Until when money of a payment is held. */
const holdTerms = z.object({
  releaseAt: z.iso.datetime().nullable().describe('When it is released by itself; null: by a request only'),
});

/** A part of the base amount of a payment for another wallet than its target. */
const split = z.object({
  walletId: publicIdOf('wallet'),
  amount: kobo.describe('What the wallet gets of baseAmount, in kobo'),
  basisPoints: z
    .number()
    .int()
    .nullable()
    .describe('Hundredths of a per cent of baseAmount; null: requested as amount'),
  reference: z.string().nullable(),
  description: z.string().nullable(),
  hold: holdTerms.optional().describe('Only where the part is held for the wallet'),
  feeBorne: kobo.optional().describe('What it bears of the fee, which amount is without, in kobo'),
  amountCredited: kobo.describe('In kobo: less than amount until it is settled, or while the part is in review'),
  amountRefunded: kobo.describe('What refunds give back of it, in kobo'),
});

export const splitTemplate = z
  .object({
    id: publicIdOf('splitTemplate'),
    name: z.string(),
    splits: z.array(
      split
        .pick({ walletId: true, basisPoints: true, reference: true, description: true, hold: true })
        .extend({ amount: kobo.nullable(), bearsFee: z.boolean().optional() }),
    ),
    createdAt: time,
  })
  .meta({ id: 'SplitTemplate', description: 'Saved splits, for payments that are divided in the same way' });

export const payment = z
  .object({
    id: publicIdOf('payment'),
    method: paymentMethod,
    status: paymentStatus,
    baseAmount: kobo.describe(
      'What the payment is for, in kobo: its wallets receive it, less a fee that the merchant bears',
    ),
    fee: kobo.describe('In kobo'),
    feeBearer: z
      .enum(FEE_BEARERS)
      .describe('payer: the fee is on top of baseAmount; merchant: out of what the target gets; split: out of splits'),
    payableAmount: kobo.describe(
      'What the payer must transfer, in kobo: baseAmount, plus the fee where the payer bears it',
    ),
    amountReceived: kobo.describe('What has been received so far, in kobo'),
    amountInReview: kobo.describe('Received money that waits for a decision, in kobo: ask for no more meanwhile'),
    amountRecalled: kobo.describe('What the bank has taken back of the money credited to the wallet, in kobo'),
    currency,
    targetWalletId: publicIdOf('wallet'),
    splits: z
      .array(split)
      .optional()
      .describe('Parts of baseAmount for other wallets: the target gets the rest, less a fee that the merchant bears'),
    hold: holdTerms.optional().describe('Only where what the target gets is held for it'),
    description: z.string().nullable(),
    onMismatch: z
      .enum(ON_MISMATCH)
      .describe('Money that the payment does not take: hold opens a review case; refund returns it to its sender'),
    ...attached,
    expiresAt: time.nullable(),
    settledAt: time.nullable(),
    createdAt: time,
    virtualAccount: virtualAccount.nullable().describe('Of a bank_transfer payment; else null'),
    returnUrl: z.string().nullable().describe('Where the payment page leads back to'),
    acceptsAmount: z
      .enum(['exact', 'any'])
      .describe('`exact`: the bank rejects any other amount than payableAmount; `any`: parts and surplus are accepted'),
    checkoutUrl: z
      .string()
      .nullable()
      .describe(
        'The page on which the payer pays: anyone with this address can see the payment. Of a bank_transfer payment',
      ),
  })
  .meta({ id: 'Payment' });

/** Without the address for the payer, which receivers of events have no use for. */
export const paymentOfEvent = payment.omit({ checkoutUrl: true });

export const creditStatus = z.enum([
  'received',
  'posted',
  'in_review',
  'credited',
  'returned_to_sender',
  'unclaimed',
  'closed',
  'recalled',
]);

/** Who sent an inbound credit. */
export const sender = z
  .object({
    name: z.string().nullable(),
    accountNumber: z.string().nullable(),
    bankCode: z.string().nullable(),
    sessionId: z.string().nullable().describe("The transfer's session id at the sender's bank, for disputes with it"),
  })
  .describe('Null where the bank sent nothing');

export const credit = z
  .object({
    id: publicIdOf('inboundCredit'),
    amount: kobo,
    currency,
    sessionId: z.string().describe("The bank's own id of the credit"),
    sender,
    status: creditStatus,
    reviewCaseId: publicIdOf('reviewCase').nullable(),
    reviewReason: z.enum(REVIEW_REASONS).nullable(),
    receivedAt: time.describe('When the bank received it'),
    createdAt: time,
  })
  .meta({ id: 'Credit', description: 'Money received on the account number of a payment or wallet' });

/** The credit that caused an event. */
export const creditOfEvent = credit.pick({ id: true, amount: true, sessionId: true, sender: true, receivedAt: true });

export const transfer = z
  .object({
    id: publicIdOf('transfer'),
    sourceWalletId: publicIdOf('wallet'),
    destinationWalletId: publicIdOf('wallet'),
    amount: kobo,
    fee: kobo,
    status: z.enum(['completed', 'failed']),
    holdId: publicIdOf('hold').nullable().describe('The hold of the money; null: it is in the destination wallet'),
    description: z.string().nullable(),
    ...attached,
    currency,
    createdAt: time,
  })
  .meta({ id: 'Transfer' });

export const hold = z
  .object({
    id: publicIdOf('hold'),
    status: z.enum(HOLD_STATUSES).describe('released, cancelled: by what took the last of it'),
    walletId: publicIdOf('wallet').describe('The wallet that it is held for'),
    sourceWalletId: publicIdOf('wallet').nullable().describe('The wallet that paid; null: a bank account did'),
    transferId: publicIdOf('transfer').nullable(),
    paymentId: publicIdOf('payment').nullable().describe('Of the payment that it is a part of, if no transfer made it'),
    amount: kobo,
    amountHeld: kobo.describe('What is still held, in kobo'),
    amountReleased: kobo,
    amountCancelled: kobo.describe('What went back: by a cancellation, a refund, or a recall of the bank'),
    currency,
    releaseAt: time.nullable().describe('When it is released by itself; null: by a request only'),
    createdAt: time,
    endedAt: time.nullable(),
  })
  .meta({ id: 'Hold', description: 'Money beside a wallet, in its heldBalance' });

/** The account at another bank that money is sent to. */
export const counterparty = z.object({
  accountNumber: z.string(),
  accountName: z.string().nullable(),
  bankCode: z.string(),
});
export const bankCounterparty = counterparty.extend({ bankName: z.string().nullable() });

/** How a transfer to a bank failed, and its name at the bank. */
const bankOutcome = {
  failureCode: z.enum(FAILURE_CODES).nullable().describe('For programs; null unless it failed or was returned'),
  failureReason: z.string().nullable().describe('For people; branch on status and failureCode'),
  failureDetail: z.string().nullable().describe("The bank's own words, where no failureCode has them"),
  sessionId: z.string().nullable().describe("The bank's own id of the transfer, once it reported it"),
};

export const withdrawalStatus = z.enum(['processing', 'completed', 'failed', 'returned']);

export const withdrawal = z
  .object({
    id: publicIdOf('withdrawal'),
    sourceWalletId: publicIdOf('wallet'),
    amount: kobo,
    fee: kobo,
    totalAmount: kobo.describe('What is debited, in kobo: amount plus fee'),
    status: withdrawalStatus,
    counterparty: bankCounterparty,
    ...attached,
    ...bankOutcome,
    currency,
    createdAt: time,
    completedAt: time.nullable(),
  })
  .meta({ id: 'Withdrawal' });

export const refundDestination = z.enum(['bank', 'wallet']);
export const refundStatus = z.enum(['processing', 'completed', 'failed']);

export const refund = z
  .object({
    id: publicIdOf('refund'),
    paymentId: publicIdOf('payment'),
    amount: kobo,
    destination: refundDestination,
    from: z
      .array(z.object({ walletId: publicIdOf('wallet'), amount: kobo }))
      .optional()
      .describe('What each wallet gives of it, where not all of it is of the target'),
    fundedBy: publicIdOf('wallet').optional().describe('The wallet that gives it in their place'),
    status: refundStatus,
    ...attached,
    ...bankOutcome,
    currency,
    createdAt: time,
    completedAt: time.nullable(),
  })
  .meta({ id: 'Refund' });

export const payoutStatus = z.enum(['processing', 'completed', 'partially_completed', 'failed']);

export const payoutItemStatus = z.enum(['pending', 'processing', 'completed', 'failed']);

export const payoutItem = z
  .object({
    id: publicIdOf('payoutItem'),
    amount: kobo,
    fee: kobo,
    status: payoutItemStatus,
    reference: z.string().nullable().describe('Your own reference, unique in the payout'),
    destinationWalletId: publicIdOf('wallet').nullable().describe('Null: an account at another bank'),
    counterparty,
    ...bankOutcome,
  })
  .meta({ id: 'PayoutItem' });

export const payout = z
  .object({
    id: publicIdOf('payout'),
    sourceWalletId: publicIdOf('wallet'),
    totalAmount: kobo.describe('The sum of the items, in kobo'),
    totalFee: kobo.describe("The sum of the items' fees, in kobo"),
    itemCount: z.number().int(),
    successCount: z.number().int(),
    failureCount: z.number().int(),
    status: payoutStatus,
    ...attached,
    items: z.array(payoutItem).describe('In the order of the request'),
    currency,
    createdAt: time,
  })
  .meta({ id: 'Payout' });

export const payoutOfEvent = payout.omit({ items: true });

export const payoutItemOfEvent = payoutItem.extend({ payoutId: publicIdOf('payout'), currency });

export const reviewCase = z
  .object({
    id: publicIdOf('reviewCase'),
    reason: z.enum(REVIEW_REASONS),
    status: z.enum(REVIEW_STATUSES),
    amount: kobo,
    fee: kobo.describe('What a credit to the wallet of its payment is charged, in kobo: as it would have been on time'),
    currency,
    paymentId: publicIdOf('payment').nullable(),
    reference: z.string().nullable().describe('Your own reference of the payment'),
    walletId: publicIdOf('wallet').nullable().describe('The wallet that the money was for, or that it was credited to'),
    inboundCreditId: publicIdOf('inboundCredit').nullable(),
    lateBySeconds: z
      .number()
      .int()
      .nullable()
      .describe('Of a late credit: how long after `expiresAt` the bank received it; 0: before, but reported later'),
    actions: z.array(z.enum(KEY_ACTIONS)).describe('What a key may decide now'),
    returnFailure: z
      .enum(RETURN_FAILURES)
      .nullable()
      .describe('How the last attempt to return the money failed: operators decide then'),
    returnFailureCode: z.enum(FAILURE_CODES).nullable().describe('Why, for programs; as of a withdrawal'),
    returnFailureReason: z.string().nullable().describe('For people'),
    createdAt: time,
    resolvedAt: time.nullable(),
  })
  .meta({ id: 'ReviewCase', description: 'Received money that waits for a decision' });

const problem = z.object({
  field: z.string().describe('Its path in the request, as in an error'),
  code: z.string(),
  message: z.string(),
});

const limitExcess = walletLimits.shape.limits.element
  .omit({ used: true })
  .extend({ walletId: publicIdOf('wallet'), attempted: z.number().int() });

export const payoutValidation = z
  .object({
    sourceWalletId: publicIdOf('wallet'),
    isValid: z.boolean().describe('There is no problem, and the source wallet has enough'),
    totalAmount: kobo,
    totalFee: kobo,
    missingAmount: kobo.describe('What the source wallet lacks for amounts and fees, in kobo'),
    itemCount: z.number().int(),
    problems: z
      .array(problem.extend({ details: limitExcess }))
      .describe('Of the payout as a whole: the limit of a day or month that it exceeds'),
    items: z
      .array(
        z.object({
          reference: z.string().nullable(),
          amount: kobo,
          fee: kobo,
          totalAmount: kobo,
          accountName: z.string().nullable().describe('As the bank has it; null where the bank did not report it'),
          problems: z.array(problem).describe('Why the item would be rejected, or fail'),
        }),
      )
      .describe('In the order of the request'),
    currency,
  })
  .meta({ id: 'PayoutValidation' });

export const bank = z.object({ code: z.string(), name: z.string() }).meta({ id: 'Bank' });

export const resolvedBankAccount = z
  .object({ accountNumber: z.string(), accountName: z.string(), bankCode: z.string(), bankName: z.string() })
  .meta({ id: 'ResolvedBankAccount' });

export const webhookEndpoint = z
  .object({
    id: publicIdOf('webhookEndpoint'),
    url: z.string(),
    description: z.string().nullable(),
    eventTypes: z.array(z.enum(EVENT_TYPES)).nullable().describe('Null: all types, including future ones'),
    status: z.enum(['enabled', 'disabled']),
    failingSince: time
      .nullable()
      .describe('The first failed attempt since the last that succeeded; after five days it is disabled'),
    previousSecretExpiresAt: time.nullable().describe('During a rotation: until when the previous secret signs too'),
    createdAt: time,
  })
  .meta({ id: 'WebhookEndpoint' });
