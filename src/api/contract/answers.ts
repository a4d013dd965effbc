// The schemas of what is no resource: health, fee quotes, rail callbacks, and the sandbox bank's simulations.
import { z } from 'zod';
import { CHARGED_MOVEMENTS } from '../../ledger/fees.ts';
import { ENVIRONMENTS } from '../../money.ts';
import { OWN_LINE_KINDS } from '../../rail/sandbox/bank.ts';
import { BEHAVIOURS } from '../../rail/sandbox/destinations.ts';
import { currency, kobo, publicIdOf, time } from '../../resources/publicFields.ts';
import { FEE_BEARERS } from '../../workflows/payment/decide.ts';

export const health = z
  .object({
    status: z.enum(['ok', 'degraded']).describe('degraded: accepted work is safe and continues later'),
    version: z.string(),
    environment: z.enum(ENVIRONMENTS),
    checks: z.object({
      database: z.literal('ok'),
      temporal: z.enum(['ok', 'unreachable', 'refused', 'misconfigured']),
      flows: z.enum(['ok', 'delayed']),
      rail: z.string().describe('The name of the bank rail, or none'),
    }),
  })
  .meta({ id: 'Health' });

export const feeQuote = z
  .object({
    type: z.enum(CHARGED_MOVEMENTS),
    amount: kobo,
    fee: kobo,
    feeBearer: z.enum(FEE_BEARERS),
    totalAmount: kobo,
    currency,
  })
  .meta({ id: 'FeeQuote' });

export const apiKey = z
  .object({
    id: publicIdOf('apiKey'),
    name: z.string().nullable(),
    hint: z.string().describe('The last four characters of the key'),
    scopes: z.array(z.string()),
    allowedIps: z.array(z.string()).nullable().describe('Addresses and CIDR ranges that may use it; null: any'),
    rateLimit: z.number().int().nullable().describe('Requests a minute; null: the default'),
    status: z.enum(['active', 'expired', 'revoked']),
    createdBy: publicIdOf('apiKey').nullable().describe('The key that made it, with which it ends; null: an operator'),
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable().describe('Up to a minute late'),
    createdAt: time,
  })
  .meta({ id: 'ApiKey' });

export const requestLog = z
  .object({
    requestId: z.string().regex(/^req_[0-9a-f]{24}$/),
    keyId: publicIdOf('apiKey'),
    method: z.string(),
    path: z.string().describe('The pattern of the path, such as `/wallets/:id`'),
    resourceId: z.string().nullable().describe('The resource that the request was about, or that it created'),
    status: z.number().int(),
    errorCode: z.string().nullable(),
    errorDetails: z.record(z.string(), z.unknown()).nullable(),
    idempotencyKey: z.string().nullable(),
    durationMs: z.number().int(),
    createdAt: time,
  })
  .meta({ id: 'RequestLog' });

export const newApiKey = apiKey
  .extend({ key: z.string().describe('Shown only in this response') })
  .meta({ id: 'NewApiKey' });

export const receipt = z.object({ received: z.literal(true) }).meta({ id: 'Receipt' });

const simulated = { accountNumber: z.string(), amount: kobo, currency };

export const simulatedCredit = z
  .object({
    sessionId: z.string(),
    ...simulated,
    senderName: z.string().nullable(),
    senderAccountNumber: z.string().nullable(),
    senderBankCode: z.string().nullable(),
    receivedAt: time,
  })
  .meta({ id: 'SimulatedCredit' });

export const simulatedRecall = z
  .object({ sessionId: z.string(), ...simulated, recalledAt: time.nullable() })
  .meta({ id: 'SimulatedRecall' });

export const simulatedStatementLine = z
  .object({ kind: z.enum(OWN_LINE_KINDS), reference: z.string(), amount: kobo, currency, at: time })
  .meta({ id: 'SimulatedStatementLine' });

export const simulatedBankAccount = z
  .object({
    accountNumber: z.string(),
    bankCode: z.string().nullable(),
    name: z.string().nullable(),
    behaviour: z.enum(BEHAVIOURS),
  })
  .meta({ id: 'SimulatedBankAccount' });

export const simulatedTransfer = z
  .object({
    reference: z.string(),
    status: z.enum(['processing', 'completed', 'failed', 'returned']),
    ...simulated,
    bankCode: z.string(),
    sessionId: z.string(),
    reason: z.string().nullable(),
    timesSent: z.number().int(),
    timesPaid: z.number().int(),
    timesReturned: z.number().int(),
  })
  .meta({ id: 'SimulatedTransfer', description: 'A transfer as the sandbox bank has it' });
