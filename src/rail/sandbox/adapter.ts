// Adapter of the sandbox bank to the rail port.
import { z } from 'zod';
import { isOutage } from '../../database/errors.ts';
import type { Keyring } from '../../keyring.ts';
import { RailCallbackInvalidError, RailRefusedError, RailUnavailableError } from '../errors.ts';
import { NIP_WORDS } from '../failures.ts';
import type { BankRail, RailCallback, TransferReport } from '../port.ts';
import type { SandboxBank } from './bank.ts';
import { BANKS, isBankCode } from './banks.ts';
import { SIGNATURE_HEADER } from './callbacks.ts';
import { SANDBOX_RAIL } from './capabilities.ts';
import type { SandboxTransfer } from './transfers.ts';

/** A callback whose signature time differs by more than this is rejected, against replay. */
const CALLBACK_AGE_MAX_SECONDS = 300;

const callbackBody = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('inbound_credit'),
    contract: z.uuid(),
    sessionId: z.string().min(1).max(100),
    accountNumber: z.string().regex(/^[0-9]{10}$/),
    accountReference: z.string().nullable(),
    amount: z.number().int().positive(),
    senderName: z.string().nullable(),
    senderAccountNumber: z.string().nullable(),
    senderBankCode: z.string().nullable(),
    receivedAt: z.coerce.date(),
  }),
  z.object({ type: z.literal('recall'), contract: z.uuid(), sessionId: z.string().min(1).max(100) }),
  z.object({ type: z.literal('transfer_update'), contract: z.uuid(), reference: z.string().min(1).max(100) }),
]);

export function createSandboxRail(bank: SandboxBank, keyring: Keyring): BankRail {
  return {
    name: SANDBOX_RAIL,
    capabilities: bank.capabilities,
    failures: NIP_WORDS,

    openVirtualAccount: (request, signal) => call(signal, () => bank.openAccount(request)),

    closeVirtualAccount: ({ organisationId, accountNumber }, signal) =>
      call(signal, () => bank.closeAccount(organisationId, accountNumber)),

    findInboundCredit: ({ organisationId, sessionId }, signal) =>
      call(signal, () => bank.findCredit(organisationId, sessionId)),

    listInboundCredits: (request, signal) => call(signal, () => bank.listCredits(request)),

    banks: () => Promise.resolve(BANKS),

    async resolveAccount({ organisationId, accountNumber, bankCode }, signal) {
      if (!isBankCode(bankCode)) return null;
      const { name } = await call(signal, () =>
        bank.transfers.findDestination(organisationId, accountNumber, bankCode),
      );
      return name === null ? null : { accountName: name };
    },

    async sendTransfer(instruction, signal) {
      if (!isBankCode(instruction.bankCode)) throw new RailRefusedError('There is no bank with this code');
      return reportOf(await call(signal, () => bank.transfers.send(instruction)));
    },

    async transferStatus({ organisationId, reference }, signal) {
      const transfer = await call(signal, () => bank.transfers.lookUp(organisationId, reference));
      return transfer && reportOf(transfer);
    },

    /** It pays whatever it is asked for. */
    balance: () => Promise.resolve(null),

    statement: (request, signal) => call(signal, () => bank.statement(request)),

    parseCallback({ organisationId, headers, body }): RailCallback[] {
      const text = body.toString('utf8');
      checkSignature(keyring, headers[SIGNATURE_HEADER], text);
      const parsed = callbackBody.safeParse(JSON.parse(text));
      if (!parsed.success)
        throw new RailCallbackInvalidError('unknown callback type, or a callback with missing or invalid fields');
      const { contract, ...callback } = parsed.data;
      if (contract !== organisationId) throw new RailCallbackInvalidError('the callback is for another organisation');
      if (callback.type === 'transfer_update') return [{ kind: callback.type, reference: callback.reference }];
      if (callback.type === 'recall') return [{ kind: callback.type, sessionId: callback.sessionId }];
      const { type, sessionId, accountNumber, accountReference, amount, receivedAt, ...sender } = callback;
      return [{ kind: type, sessionId, hint: { accountNumber, accountReference, amount, receivedAt }, sender }];
    },
  };
}

const reportOf = (transfer: SandboxTransfer): TransferReport => {
  const { reference, status, sessionId, reason, amount, accountNumber, bankCode } = transfer;
  return { reference, status, sessionId, reason, amount, accountNumber, bankCode, charge: 0 };
};

function checkSignature(keyring: Keyring, header: string | string[] | undefined, body: string): void {
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(String(header));
  if (match === null) throw new RailCallbackInvalidError('the signature header is missing or malformed');
  const [, t, signature] = match as unknown as [string, string, string];
  if (Math.abs(Date.now() / 1000 - Number(t)) > CALLBACK_AGE_MAX_SECONDS) {
    throw new RailCallbackInvalidError(`the signature time is more than ${CALLBACK_AGE_MAX_SECONDS} s off`);
  }
  if (!keyring.verify('sandbox-rail-callback', `${t}.${body}`, Buffer.from(signature, 'hex'))) {
    throw new RailCallbackInvalidError('the signature does not match the body');
  }
}

/**
 * Calls the sandbox bank. Its books are in our database, so a database outage is an outage of the bank. After the
 * signal is aborted no call starts; a call that started before completes, as at a real bank.
 */
async function call<Result>(signal: AbortSignal | undefined, operation: () => Promise<Result>): Promise<Result> {
  signal?.throwIfAborted();
  try {
    return await operation();
  } catch (error) {
    if (isOutage(error)) throw new RailUnavailableError('the sandbox bank is unreachable', { cause: error });
    throw error;
  }
}
