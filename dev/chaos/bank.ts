// The bank of a chaos run as its traffic sees it: what payers, receiving banks and the bank itself do.
import type { Callers } from './callers.ts';
import { bankAccountOf, DESTINATIONS, type Destination } from './requests.ts';

export interface Payer {
  accountNumber: string;
  bankCode: string;
}

export interface TrafficBank {
  /** A payer's transfer to an account number. `session` identifies it: a repetition is reported again. */
  credit: (accountNumber: string, amount: number, session: string, payer?: Payer) => Promise<void>;
  repeatCredit: (accountNumber: string, amount: number, session: string, payer?: Payer) => Promise<void>;
  /** An account that treats transfers to it in this way; `ownAccountNumber`: that of a wallet. */
  accountOf: (destination: Destination | 'ownWallet', ownAccountNumber: string) => Payer;
  /** Takes back the credit of a session, if it can. */
  recall: (session: string) => Promise<void>;
  /** A line of the bank's own on its statement, where it has such lines. */
  addLine: (kind: 'charge' | 'interest' | 'settlement', amount: number) => Promise<void>;
  /** The organisation pays in at the bank; null: it does so by a transfer to its settlement wallet. */
  fund: ((amount: number) => void) | null;
  endTransfer: (reference: string, outcome: 'complete' | 'reject' | 'return') => Promise<void>;
  /** Ends the transfers that it holds, and is available again for all accounts. */
  release: () => Promise<void>;
}

/** The sandbox bank, by the simulations of the API. */
export function sandboxBank(callers: Callers): TrafficBank {
  const bodyOf = (accountNumber: string, amount: number, sessionId: string, payer: Payer | undefined) => ({
    accountNumber,
    amount,
    ...(payer && { senderAccountNumber: payer.accountNumber, senderBankCode: payer.bankCode }),
    sessionId,
  });
  return {
    async credit(accountNumber, amount, session, payer) {
      const body = bodyOf(accountNumber, amount, session, payer);
      await callers.send({ kind: 'credit', path: '/simulations/inbound-credits', body, key: null });
    },
    async repeatCredit(accountNumber, amount, session, payer) {
      await callers.ask('POST', '/simulations/inbound-credits', bodyOf(accountNumber, amount, session, payer));
    },
    accountOf: bankAccountOf,
    async recall(session) {
      await callers.ask('POST', `/simulations/inbound-credits/${session}/recall`);
    },
    async addLine(kind, amount) {
      await callers.ask('POST', '/simulations/statement-lines', { kind, amount });
    },
    fund: null,
    async endTransfer(reference, outcome) {
      await callers.ask('POST', `/simulations/bank-transfers/${reference}/resolve`, { outcome });
    },
    async release() {
      for (const accountNumber of [DESTINATIONS.unavailable, DESTINATIONS.holds]) {
        await callers.ask('PUT', `/simulations/bank-accounts/${accountNumber}`, { behaviour: 'complete' });
      }
    },
  };
}
