// What the recipes of `trigger` are made of: wallets, payments and money in the sandbox, and waiting for what follows.
// Every step is reported as it is done.
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, pagesOf, type Schemas } from '../../typescript/src/index.ts';
import { nairaText } from './arguments.ts';
import { CommandError } from './failure.ts';
import type { Session } from './session.ts';

type Payment = Schemas['Payment'];

/** Invented details: the sandbox verifies none. */
const KYC = {
  bvn: '12345678901',
  dateOfBirth: '1990-05-17',
  gender: 'female',
  phone: '+2348012345678',
  addressLine1: '1 Marina',
  city: 'Lagos',
  state: 'Lagos',
} as const;

/** Accounts at another bank, by what the sandbox bank does with a transfer to them (docs/sandbox.md). */
export const ACCOUNTS = { completes: '0123456789', rejects: '9999999001', returns: '9999999002' } as const;
const BANK_CODE = '058';

const POLL_MIN_MS = 100;
const POLL_MAX_MS = 1_000;

export interface StageOptions {
  /** In kobo. */
  amount: number;
  /** Whether a payment gets a part of its amount only. */
  partial: boolean;
  endpointId?: string | undefined;
  timeoutMs: number;
}

export class Stage {
  readonly client: Session['client'];
  readonly options: StageOptions;
  readonly #session: Session;
  readonly #deadline: number;

  constructor(session: Session, options: StageOptions) {
    this.client = session.client;
    this.options = options;
    this.#session = session;
    this.#deadline = Date.now() + options.timeoutMs;
  }

  told(text: string): void {
    this.#session.output.progress(`  ${text}`);
  }

  /** Waits for the first result that is not undefined. Throws CommandError after the time limit of the command. */
  async until<Found>(what: string, check: () => Promise<Found | undefined>): Promise<Found> {
    for (let waitMs = POLL_MIN_MS; ; waitMs = Math.min(waitMs * 1.5, POLL_MAX_MS)) {
      const found = await check();
      if (found !== undefined) return found;
      if (Date.now() > this.#deadline) {
        throw new CommandError(
          `Waited ${this.options.timeoutMs / 1000} seconds for ${what}. Is a worker running? Wait longer: --timeout.`,
        );
      }
      await sleep(waitMs, undefined, { signal: this.#session.signal });
    }
  }

  /** A wallet that may hold money. Returns its id. */
  async wallet(): Promise<string> {
    const body = { email: 'ada@example.com', fullName: 'Ada Obi' };
    const { id } = await dataOf(this.client.POST('/wallets', { body }));
    await dataOf(this.client.POST('/wallets/{id}/kyc', { params: { path: { id } }, body: KYC }));
    this.told(`wallet ${id}`);
    return id;
  }

  /** A wallet with this balance, by a deposit. */
  async fundedWallet(balance: number): Promise<{ id: string; sessionId: string }> {
    const id = await this.wallet();
    const params = { path: { id } };
    const { accountNumber } = await dataOf(this.client.GET('/wallets/{id}/deposit-account', { params }));
    const sessionId = await this.credit(accountNumber, balance);
    await this.until(`the deposit to ${id}`, async () => {
      const wallet = await dataOf(this.client.GET('/wallets/{id}/balance', { params }));
      return wallet.balance >= balance || undefined;
    });
    return { id, sessionId };
  }

  /** The amount with its fee, in kobo. */
  async withFee(type: 'withdrawal' | 'payout_item', amount: number): Promise<number> {
    const query = { type, amount: String(amount) };
    return (await dataOf(this.client.GET('/fees/quote', { params: { query } }))).totalAmount;
  }

  async payment(targetWalletId: string): Promise<Payment & { accountNumber: string }> {
    const payment = await dataOf(
      this.client.POST('/payments', {
        body: {
          method: 'bank_transfer',
          baseAmount: this.options.amount,
          targetWalletId,
          description: 'manilla trigger',
        },
      }),
    );
    const { accountNumber = '' } = payment.virtualAccount ?? {};
    this.told(`payment ${payment.id} of ${nairaText(payment.payableAmount)} to account ${accountNumber}`);
    return { ...payment, accountNumber };
  }

  /** A payer sends money to an account number. Returns the bank's id of the credit. */
  async credit(
    accountNumber: string,
    amount: number,
    senderAccountNumber: string = ACCOUNTS.completes,
  ): Promise<string> {
    const body = { accountNumber, amount, senderAccountNumber, senderBankCode: BANK_CODE, senderName: 'Chidi Eze' };
    const { sessionId } = await dataOf(this.client.POST('/simulations/inbound-credits', { body }));
    this.told(`${nairaText(amount)} sent to account ${accountNumber}`);
    return sessionId;
  }

  async untilPayment(id: string, status: Payment['status']): Promise<void> {
    await this.until(`payment ${id} to be ${status}`, async () => {
      const payment = await dataOf(this.client.GET('/payments/{id}', { params: { path: { id } } }));
      return payment.status === status || undefined;
    });
  }

  /** A payment that was settled by one credit from this account. */
  async settledPayment(senderAccountNumber: string = ACCOUNTS.completes): Promise<Payment> {
    const payment = await this.payment(await this.wallet());
    await this.credit(payment.accountNumber, payment.payableAmount, senderAccountNumber);
    await this.untilPayment(payment.id, 'settled');
    return payment;
  }

  /** A payment that expired; with `partial` after it had got a part of its money. */
  async expiredPayment(partial: boolean): Promise<Payment> {
    const payment = await this.payment(await this.wallet());
    const params = { path: { id: payment.id } };
    if (partial) {
      await this.credit(payment.accountNumber, partOf(payment.payableAmount));
      await this.untilPayment(payment.id, 'partial');
    }
    await dataOf(this.client.POST('/simulations/payments/{id}/expire', { params }));
    this.told(`payment ${payment.id} expires now`);
    return payment;
  }

  /** A review case about a part of a payment that expired. */
  async reviewCase(): Promise<{ id: string; paymentId: string }> {
    const { id: paymentId } = await this.expiredPayment(true);
    const params = { path: { id: paymentId } };
    const id = await this.until(`a review case of ${paymentId}`, async () => {
      const credits = await Array.fromAsync(
        pagesOf((cursor) =>
          this.client.GET('/payments/{id}/credits', {
            params: { ...params, query: cursor === undefined ? {} : { cursor } },
          }),
        ),
      );
      return credits.find(({ reviewCaseId }) => reviewCaseId !== null)?.reviewCaseId ?? undefined;
    });
    return { id, paymentId };
  }

  /** A transfer that is held until it is released by hand. Returns the id of its hold. */
  async hold(): Promise<string> {
    const { amount } = this.options;
    const { id } = await this.fundedWallet(amount);
    const destinationWalletId = await this.wallet();
    const { holdId } = await dataOf(
      this.client.POST('/wallets/{id}/transfer', {
        params: { path: { id } },
        body: { destinationWalletId, amount, hold: { release: 'manual' } },
      }),
    );
    this.told(`hold ${holdId} for ${destinationWalletId}`);
    return holdId ?? '';
  }

  /** A withdrawal to this account. Returns its id. */
  async withdrawal(accountNumber: string): Promise<string> {
    const { amount } = this.options;
    const wallet = await this.fundedWallet(await this.withFee('withdrawal', amount));
    const { id } = await dataOf(
      this.client.POST('/wallets/{id}/withdraw', {
        params: { path: { id: wallet.id } },
        body: { amount, accountNumber, bankCode: BANK_CODE },
      }),
    );
    this.told(`withdrawal ${id} to account ${accountNumber}`);
    return id;
  }

  /** A payout with an item to each of these accounts. Returns its id. */
  async payout(...accountNumbers: string[]): Promise<string> {
    return (await this.#payout(accountNumbers)).id;
  }

  /** A payout with one item, to this account. Returns the id of the item. */
  async payoutItem(accountNumber: string): Promise<string> {
    return (await this.#payout([accountNumber])).items[0]?.id ?? '';
  }

  async #payout(accountNumbers: readonly string[]): Promise<Schemas['Payout']> {
    const { amount } = this.options;
    const total = accountNumbers.length * (await this.withFee('payout_item', amount));
    const { id: sourceWalletId } = await this.fundedWallet(total);
    const items = accountNumbers.map((accountNumber) => ({
      amount,
      bankAccount: { accountNumber, bankCode: BANK_CODE },
    }));
    const payout = await dataOf(this.client.POST('/payouts', { body: { sourceWalletId, items } }));
    this.told(`payout ${payout.id} to ${accountNumbers.join(', ')}`);
    return payout;
  }

  /** A refund of a payment that was paid from this account. Returns its id. */
  async refund(senderAccountNumber: string): Promise<string> {
    const payment = await this.settledPayment(senderAccountNumber);
    const params = { path: { id: payment.id } };
    const { id } = await dataOf(this.client.POST('/payments/{id}/refund', { params, body: {} }));
    this.told(`refund ${id} to account ${senderAccountNumber}`);
    return id;
  }
}

/** A part of an amount: half of it, of one kobo all. */
export const partOf = (amount: number): number => Math.max(1, Math.floor(amount / 2));
