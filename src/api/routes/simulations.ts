// Simulations: requests by which an integrator controls the sandbox bank (docs/sandbox.md). On the test host only.
import { z } from 'zod';
import { NIP_WORDS_OF, type RailFailureCode } from '../../rail/failures.ts';
import { OWN_LINE_KINDS, SessionIdTakenError } from '../../rail/sandbox/bank.ts';
import { isBankCode } from '../../rail/sandbox/banks.ts';
import { BEHAVIOURS, OUTCOMES } from '../../rail/sandbox/destinations.ts';
import { newSessionId, type SandboxTransferRecord } from '../../rail/sandbox/transfers.ts';
import { viewOf } from '../../resources/publicFields.ts';
import {
  simulatedBankAccount,
  simulatedCredit,
  simulatedRecall,
  simulatedStatementLine,
  simulatedTransfer,
} from '../contract/answers.ts';
import { ApiError, notFound } from '../errors.ts';
import { type Call, type Route, route } from '../route.ts';
import { amount, bankAccountNumber, bankCode, line, optional, optionalOr, optionalOrNull, parse } from '../schemas.ts';

/** Any key may simulate. */
const ON_TEST = { access: 'any', environments: ['test'] } as const;

const creditView = viewOf(simulatedCredit);
const recallView = viewOf(simulatedRecall);
const lineView = viewOf(simulatedStatementLine);
const transferView = viewOf(simulatedTransfer);

const inboundCredit = route({
  operationId: 'simulateInboundCredit',
  success: { status: 201, data: simulatedCredit },
  errors: ['REFERENCE_TAKEN'],
  endpoint: 'POST /simulations/inbound-credits',
  ...ON_TEST,
  body: z.strictObject({
    accountNumber: bankAccountNumber,
    amount,
    senderName: optionalOr(line(200), 'Sandbox Payer'),
    senderAccountNumber: optionalOr(bankAccountNumber, '0123456789'),
    senderBankCode: optionalOr(bankCode, '058'),
    sessionId: optional(
      z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be 1 to 100 letters, digits, hyphens or underscores'),
    ),
    callback: optionalOr(z.boolean(), true),
  }),
  handle: async ({ dependencies, book, body, repeatId }) => {
    const { callback, sessionId = newSessionId(new Date(), repeatId), ...fields } = body;
    const credit = { organisationId: book.organisationId, sessionId, ...fields };
    try {
      return creditView(await dependencies.sandboxBank.receiveCredit(credit, { callback }));
    } catch (error) {
      if (!(error instanceof SessionIdTakenError)) throw error;
      throw new ApiError('REFERENCE_TAKEN', { resource: 'inbound_credit', reference: sessionId, id: sessionId });
    }
  },
});

const statementLine = route({
  operationId: 'simulateStatementLine',
  success: { status: 201, data: simulatedStatementLine },
  endpoint: 'POST /simulations/statement-lines',
  ...ON_TEST,
  body: z.strictObject({ kind: z.enum(OWN_LINE_KINDS), amount }),
  handle: async ({ dependencies, book, body, repeatId }) => {
    const line = await dependencies.sandboxBank.addStatementLine({
      organisationId: book.organisationId,
      kind: body.kind,
      reference: newSessionId(new Date(), repeatId),
      amount: body.amount,
    });
    return lineView({ ...line, kind: body.kind });
  },
});

const recallCredit = route({
  operationId: 'simulateRecall',
  success: { status: 200, data: simulatedRecall },
  errors: ['INBOUND_CREDIT_NOT_FOUND'],
  endpoint: 'POST /simulations/inbound-credits/:sessionId/recall',
  ...ON_TEST,
  handle: async ({ dependencies, book, params }) => {
    const sessionId = params.sessionId ?? '';
    const credit = await dependencies.sandboxBank.recallCredit(book.organisationId, sessionId);
    if (credit === null) throw notFound('inbound_credit', sessionId);
    return recallView(credit);
  },
});

const chooseBankAccount = route({
  operationId: 'simulateBankAccount',
  success: { status: 200, data: simulatedBankAccount },
  errors: ['BANK_CODE_UNKNOWN'],
  endpoint: 'PUT /simulations/bank-accounts/:accountNumber',
  ...ON_TEST,
  body: z.strictObject({
    bankCode: optionalOrNull(bankCode),
    name: optionalOrNull(line(200)),
    behaviour: z.enum(BEHAVIOURS),
  }),
  handle: async ({ dependencies, book, params, body: { bankCode, ...wanted } }) => {
    const { accountNumber } = parse(z.object({ accountNumber: bankAccountNumber }), params);
    if (bankCode !== null && !isBankCode(bankCode)) throw new ApiError('BANK_CODE_UNKNOWN', { bankCode });
    const account = { organisationId: book.organisationId, accountNumber, bankCode };
    const { name, behaviour } = await dependencies.sandboxBank.transfers.setDestination(account, wanted);
    return { accountNumber, bankCode, name, behaviour };
  },
});

const readTransfer = route({
  operationId: 'getSimulatedTransfer',
  success: { status: 200, data: simulatedTransfer },
  errors: ['BANK_TRANSFER_NOT_FOUND'],
  endpoint: 'GET /simulations/bank-transfers/:reference',
  ...ON_TEST,
  handle: async (call) => transferView(await requireTransfer(call)),
});

const resolveTransfer = route({
  operationId: 'resolveSimulatedTransfer',
  success: { status: 200, data: simulatedTransfer },
  errors: ['BANK_TRANSFER_NOT_FOUND', 'BANK_TRANSFER_ENDED'],
  endpoint: 'POST /simulations/bank-transfers/:reference/resolve',
  ...ON_TEST,
  idempotencyKey: 'none',
  body: z
    .strictObject({
      outcome: z.enum(OUTCOMES),
      contradict: optionalOr(z.boolean(), false),
      failureCode: optional(z.enum(Object.keys(NIP_WORDS_OF) as RailFailureCode[])),
    })
    .refine(({ outcome, failureCode }) => failureCode === undefined || outcome !== 'complete', {
      path: ['failureCode'],
      message: 'is only allowed with the outcome reject or return',
    }),
  handle: async (call) => {
    const { dependencies, book, body } = call;
    const { reference } = await requireTransfer(call, SUBMISSION_WAIT_MS);
    const { transfers } = dependencies.sandboxBank;
    const resolved = await transfers.resolve(book.organisationId, reference, body.outcome, body);
    const transfer = await requireTransfer(call);
    if (!resolved) {
      throw new ApiError('BANK_TRANSFER_ENDED', { reference, status: transfer.status, outcome: body.outcome });
    }
    return transferView(transfer);
  },
});

/** The format of references, which are public ids. The bank has no transfer with any other. */
const REFERENCE = /^[a-z0-9_]{1,40}$/;

/**
 * A money request returns before its flow sends the transfer to the bank, so `resolve` waits this long for the
 * transfer.
 */
const SUBMISSION_WAIT_MS = 3_000;
const POLL_MS = 50;

/** Reads the transfer of the path, of this organisation only. Throws BANK_TRANSFER_NOT_FOUND. */
async function requireTransfer({ dependencies, book, params }: Call, withinMs = 0): Promise<SandboxTransferRecord> {
  const reference = params.reference ?? '';
  if (!REFERENCE.test(reference)) throw notFound('bank_transfer', reference);
  for (const deadline = Date.now() + withinMs; ; ) {
    const transfer = await dependencies.sandboxBank.transfers.find(book.organisationId, reference);
    if (transfer !== null) return transfer;
    if (Date.now() >= deadline) throw notFound('bank_transfer', reference);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export const simulationRoutes: Route[] = [
  inboundCredit,
  statementLine,
  recallCredit,
  chooseBankAccount,
  readTransfer,
  resolveTransfer,
];
