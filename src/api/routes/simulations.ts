// Simulations: requests by which an integrator controls the sandbox bank (docs/sandbox.md). On the test host only.
import { z } from 'zod';
import { CURRENCY } from '../../money.ts';
import { OWN_LINE_KINDS } from '../../rail/sandbox/bank.ts';
import { isBankCode } from '../../rail/sandbox/banks.ts';
import { BEHAVIOURS, OUTCOMES } from '../../rail/sandbox/destinations.ts';
import { newSessionId, type SandboxTransferRecord } from '../../rail/sandbox/transfers.ts';
import {
  simulatedBankAccount,
  simulatedCredit,
  simulatedRecall,
  simulatedStatementLine,
  simulatedTransfer,
} from '../contract/answers.ts';
import { ApiError, notFound } from '../errors.ts';
import { type Call, type Route, route } from '../route.ts';
import { amount, bankAccountNumber, bankCode, optional, parse, text } from '../schemas.ts';

const inboundCredit = route({
  operationId: 'simulateInboundCredit',
  summary: 'Send money to an account number',
  success: { status: 201, data: simulatedCredit },
  method: 'post',
  path: '/simulations/inbound-credits',
  access: 'any',
  environments: ['test'],
  body: z.strictObject({
    accountNumber: bankAccountNumber,
    amount,
    senderName: optional(text(200)),
    senderAccountNumber: optional(bankAccountNumber),
    senderBankCode: optional(bankCode),
    sessionId: optional(
      z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be 1 to 100 letters, digits, hyphens or underscores'),
    ),
    callback: optional(z.boolean()),
  }),
  handle: async ({ dependencies, caller, body }) => {
    const credit = await dependencies.sandboxBank.receiveCredit(
      {
        organisationId: caller.book.organisationId,
        sessionId: body.sessionId ?? newSessionId(new Date()),
        accountNumber: body.accountNumber,
        amount: body.amount,
        senderName: body.senderName ?? 'Sandbox Payer',
        senderAccountNumber: body.senderAccountNumber ?? '0123456789',
        senderBankCode: body.senderBankCode ?? '058',
      },
      { callback: body.callback ?? true },
    );
    return {
      status: 201,
      data: {
        sessionId: credit.sessionId,
        accountNumber: credit.accountNumber,
        amount: credit.amount,
        currency: CURRENCY,
        senderName: credit.senderName,
        senderAccountNumber: credit.senderAccountNumber,
        senderBankCode: credit.senderBankCode,
        receivedAt: credit.receivedAt.toISOString(),
      },
    };
  },
});

const statementLine = route({
  operationId: 'simulateStatementLine',
  summary: "Add a line of the bank's own to its statement",
  success: { status: 201, data: simulatedStatementLine },
  method: 'post',
  path: '/simulations/statement-lines',
  access: 'any',
  environments: ['test'],
  body: z.strictObject({ kind: z.enum(OWN_LINE_KINDS), amount }),
  handle: async ({ dependencies, caller, body }) => {
    const { kind, reference, at, ...line } = await dependencies.sandboxBank.addStatementLine({
      organisationId: caller.book.organisationId,
      kind: body.kind,
      reference: newSessionId(new Date()),
      amount: body.amount,
    });
    return { status: 201, data: { kind, reference, amount: line.amount, currency: CURRENCY, at: at.toISOString() } };
  },
});

const recallCredit = route({
  operationId: 'simulateRecall',
  summary: 'Have the bank take a credit back',
  success: { status: 200, data: simulatedRecall },
  errors: ['INBOUND_CREDIT_NOT_FOUND'],
  method: 'post',
  path: '/simulations/inbound-credits/:sessionId/recall',
  access: 'any',
  environments: ['test'],
  handle: async ({ dependencies, caller, params }) => {
    const sessionId = params.sessionId ?? '';
    const credit = await dependencies.sandboxBank.recallCredit(caller.book.organisationId, sessionId);
    if (credit === null) throw notFound('inbound_credit', sessionId);
    const { accountNumber, amount, recalledAt } = credit;
    return {
      status: 200,
      data: { sessionId, accountNumber, amount, currency: CURRENCY, recalledAt: recalledAt?.toISOString() ?? null },
    };
  },
});

const chooseBankAccount = route({
  operationId: 'simulateBankAccount',
  summary: 'Choose how transfers to a bank account end',
  success: { status: 200, data: simulatedBankAccount },
  errors: ['BANK_CODE_UNKNOWN'],
  method: 'put',
  path: '/simulations/bank-accounts/:accountNumber',
  access: 'any',
  environments: ['test'],
  body: z.strictObject({ bankCode: optional(bankCode), name: optional(text(200)), behaviour: z.enum(BEHAVIOURS) }),
  handle: async (call) => {
    const { dependencies, caller, body } = call;
    const accountNumber = requireAccountNumber(call);
    if (body.bankCode !== undefined && !isBankCode(body.bankCode)) {
      throw new ApiError('BANK_CODE_UNKNOWN', { bankCode: body.bankCode });
    }
    const account = {
      organisationId: caller.book.organisationId,
      accountNumber,
      bankCode: body.bankCode ?? null,
    };
    const { name, behaviour } = await dependencies.sandboxBank.transfers.setDestination(account, {
      name: body.name ?? null,
      behaviour: body.behaviour,
    });
    return { status: 200, data: { accountNumber, bankCode: account.bankCode, name, behaviour } };
  },
});

const readTransfer = route({
  operationId: 'getSimulatedTransfer',
  summary: 'Get a transfer as the sandbox bank has it',
  success: { status: 200, data: simulatedTransfer },
  errors: ['BANK_TRANSFER_NOT_FOUND'],
  method: 'get',
  path: '/simulations/bank-transfers/:reference',
  access: 'any',
  environments: ['test'],
  handle: async (call) => ({ status: 200, data: transferView(await requireTransfer(call)) }),
});

const resolveTransfer = route({
  operationId: 'resolveSimulatedTransfer',
  summary: 'End a transfer that the sandbox bank holds',
  success: { status: 200, data: simulatedTransfer },
  errors: ['BANK_TRANSFER_NOT_FOUND', 'BANK_TRANSFER_ENDED'],
  method: 'post',
  path: '/simulations/bank-transfers/:reference/resolve',
  access: 'any',
  environments: ['test'],
  body: z.strictObject({ outcome: z.enum(OUTCOMES), contradict: optional(z.boolean()) }),
  handle: async (call) => {
    const { dependencies, caller, body } = call;
    const { reference } = await requireTransfer(call, SUBMISSION_WAIT_MS);
    const resolved = await dependencies.sandboxBank.transfers.resolve(
      caller.book.organisationId,
      reference,
      body.outcome,
      body.contradict ?? false,
    );
    const transfer = await requireTransfer(call);
    if (!resolved) {
      throw new ApiError('BANK_TRANSFER_ENDED', { reference, status: transfer.status, outcome: body.outcome });
    }
    return { status: 200, data: transferView(transfer) };
  },
});

/** The account number of the path. Throws VALIDATION_FAILED unless it has ten digits. */
function requireAccountNumber({ params }: Call<unknown, unknown>): string {
  return parse(z.object({ accountNumber: bankAccountNumber }), params).accountNumber;
}

/** The format of references, which are public ids. The bank has no transfer with any other. */
const REFERENCE = /^[a-z0-9_]{1,40}$/;

/**
 * A money request returns before its flow sends the transfer to the bank, so `resolve` waits this long for the
 * transfer.
 */
const SUBMISSION_WAIT_MS = 3_000;
const POLL_MS = 50;

/** Reads the transfer of the path, of this organisation only. Throws BANK_TRANSFER_NOT_FOUND. */
async function requireTransfer(
  { dependencies, caller, params }: Call<unknown, unknown>,
  withinMs = 0,
): Promise<SandboxTransferRecord> {
  const reference = params.reference ?? '';
  if (!REFERENCE.test(reference)) throw notFound('bank_transfer', reference);
  for (const deadline = Date.now() + withinMs; ; ) {
    const transfer = await dependencies.sandboxBank.transfers.find(caller.book.organisationId, reference);
    if (transfer !== null) return transfer;
    if (Date.now() >= deadline) throw notFound('bank_transfer', reference);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The view of a transfer in the sandbox bank. */
const transferView = (transfer: SandboxTransferRecord) => ({
  reference: transfer.reference,
  status: transfer.status,
  amount: transfer.amount,
  currency: CURRENCY,
  accountNumber: transfer.accountNumber,
  bankCode: transfer.bankCode,
  sessionId: transfer.sessionId,
  reason: transfer.reason,
  timesSent: transfer.timesSent,
  timesPaid: transfer.timesPaid,
  timesReturned: transfer.timesReturned,
});

export const simulationRoutes: Route[] = [
  inboundCredit,
  statementLine,
  recallCredit,
  chooseBankAccount,
  readTransfer,
  resolveTransfer,
];
