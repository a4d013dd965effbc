// One organisation on which a day's commands are done, through the API and the sandbox bank as everybody does them, until
// nothing is on its way any more.
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { signCallback } from '../../src/rail/sandbox/callbacks.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import type { Answer, Client, Resource, TestOrganisation } from '../support/api.ts';
import type { PaymentResource, TestFlows } from '../support/flows.ts';
import type { ScenarioContext } from '../support/scenarioContext.ts';
import { waitFor } from '../support/waitFor.ts';
import type { UnreliableCallbacks } from './unreliableCallbacks.ts';
import { type Command, DESTINATIONS, type Workload } from './workload.ts';

/** What a customer may hear instead of a yes. Everything else is a fault, and so is every 5xx. */
const REFUSALS = new Set([
  'WALLET_INSUFFICIENT_FUNDS',
  'WALLET_FROZEN',
  'WALLET_TIER1_LIMIT_EXCEEDED',
  'SAME_WALLET',
  'BANK_ACCOUNT_NOT_RESOLVED',
  'PAYMENT_NOT_PAYABLE',
  'PAYMENT_NOT_REFUNDABLE',
  'REFUND_AMOUNT_EXCEEDED',
  'BANK_TRANSFER_ENDED',
  'BANK_TRANSFER_NOT_FOUND',
]);

const WALLETS = 3;
const FIRST_DEPOSIT = 1_000_000;
/** Payments close while the day goes on, some before their money comes. */
const WINDOW_MS = 2_500;
const WAKE_EVERY_MS = 400;
const SETTLED_LIMIT_MS = 180_000;

interface TestWallet {
  id: string;
  accountNumber: string;
}

export class Simulation {
  readonly flows: TestFlows;
  readonly organisation: TestOrganisation;
  /** Answers that nobody should get. */
  readonly faults: string[] = [];
  readonly #postman: UnreliableCallbacks;
  readonly #wallets: TestWallet[] = [];
  /** References that the bank was or will be given. */
  readonly #references: string[] = [];
  /** Money that payers send after the window has closed. */
  readonly #late: (() => Promise<void>)[] = [];
  #wakeAgainAt = 0;

  constructor(stage: ScenarioContext, postman: UnreliableCallbacks) {
    this.flows = stage.flows;
    this.organisation = stage.organisation;
    this.#postman = postman;
  }

  async run({ moods, batches }: Workload, stage: ScenarioContext): Promise<void> {
    this.#postman.setFaultSeed(this.organisation.organisationId, moods);
    await stage.shortenWindows(WINDOW_MS);
    for (let count = 0; count < WALLETS; count += 1) {
      const id = await this.flows.createWallet(this.#api);
      const { data } = await this.#api.get(`/wallets/${id}/deposit-account`);
      this.#wallets.push({ id, accountNumber: String(data.accountNumber) });
    }
    await Promise.all(this.#wallets.map(({ accountNumber }) => this.#credit(accountNumber, FIRST_DEPOSIT)));
    await waitFor('the first deposits', async () => {
      const balances = await Promise.all(this.#wallets.map(({ id }) => this.flows.balanceOf(id)));
      return balances.every((balance) => balance === FIRST_DEPOSIT);
    });
    for (const batch of batches) await Promise.all(batch.map((command) => this.#do(command)));
    await this.#settle();
  }

  get #api(): Client {
    return this.organisation.test;
  }

  #wallet(place: number): TestWallet {
    return this.#wallets[place % this.#wallets.length] as TestWallet;
  }

  async #do(command: Command): Promise<void> {
    switch (command.do) {
      case 'deposit':
        return await this.#credit(this.#wallet(command.to).accountNumber, command.amount);
      case 'depositToNobody':
        return await this.#credit('1234567890', command.amount);
      case 'payment':
        return await this.#requestPayment(command);
      case 'transfer': {
        const body = { destinationWalletId: this.#wallet(command.to).id, amount: command.amount };
        await this.#money(`/wallets/${this.#wallet(command.from).id}/transfer`, body);
        return;
      }
      case 'pay': {
        const body = {
          method: 'virtual_wallet',
          baseAmount: command.base,
          targetWalletId: this.#wallet(command.to).id,
        };
        const payment = (await this.#money('/payments', body)) as PaymentResource | null;
        if (payment === null) return;
        await this.#money(`/wallets/${this.#wallet(command.from).id}/pay`, { paymentId: payment.id });
        return;
      }
      case 'withdraw': {
        const body = { amount: command.amount, ...this.#bankAccount(command.destination, command.from) };
        const made = await this.#money(`/wallets/${this.#wallet(command.from).id}/withdraw`, body);
        if (made !== null) this.#references.push(made.id);
        return;
      }
      case 'refund':
        return await this.#refund(command);
      case 'payout': {
        const sourceWalletId = this.#wallet(command.from).id;
        const items = command.items.map(({ amount, destination }) => ({
          amount,
          bankAccount: this.#bankAccount(destination, command.from),
        }));
        const made = await this.#money('/payouts', { sourceWalletId, items });
        for (const { id } of (made?.items ?? []) as Resource[]) this.#references.push(id);
        return;
      }
      case 'endTransfer': {
        const reference = this.#references[command.transfer % this.#references.length];
        if (reference === undefined) return;
        const { outcome } = command;
        this.#expect(await this.#api.post(`/simulations/bank-transfers/${reference}/resolve`, { outcome }));
        return;
      }
      case 'repeatCallback':
        return await this.#postman.repeat(this.organisation.organisationId, command.callback);
      case 'freeze': {
        const wallet = requireUuid('wallet', this.#wallet(command.wallet).id);
        const status = command.frozen ? 'frozen' : 'active';
        await setWalletStatus(this.flows.sql, this.organisation.organisationId, wallet, status, OPERATOR);
      }
    }
  }

  async #requestPayment(command: Extract<Command, { do: 'payment' }>): Promise<void> {
    const body = {
      method: 'bank_transfer',
      baseAmount: command.base,
      targetWalletId: this.#wallet(command.to).id,
    };
    const payment = (await this.#money('/payments', body)) as PaymentResource | null;
    if (payment === null) return;
    const { accountNumber } = payment.virtualAccount;
    const sender = DESTINATIONS[command.payer];
    const send = async (): Promise<void> => {
      for (const [place, share] of command.shares.entries()) {
        const amount = Math.max(1, Math.round((payment.payableAmount * share) / 100));
        const sessionId = `${payment.id}-${place}`;
        await this.#credit(accountNumber, amount, sender, sessionId);
        if (command.repeated) await this.#credit(accountNumber, amount, sender, sessionId);
      }
    };
    if (command.late) this.#late.push(send);
    else await send();
  }

  async #refund({ payment, percent, destination }: Extract<Command, { do: 'refund' }>): Promise<void> {
    const { items: settled } = await this.#api.get('/payments?status=settled&limit=100');
    const chosen = settled[payment % settled.length];
    if (chosen === undefined) return;
    const body = {
      ...(percent !== 100 && { amount: Math.max(1, Math.round((Number(chosen.baseAmount) * percent) / 100)) }),
      // A payment from a wallet goes back there; one by bank to the payer, or to an account that is named.
      ...(chosen.method === 'bank_transfer' &&
        percent !== 50 && { bankAccount: { accountNumber: DESTINATIONS[destination], bankCode: '058' } }),
    };
    const made = await this.#money(`/payments/${chosen.id}/refund`, body);
    if (made !== null && made.destination === 'bank') this.#references.push(made.id);
  }

  #bankAccount(destination: keyof typeof DESTINATIONS | 'ownWallet', place: number): object {
    if (destination !== 'ownWallet') return { accountNumber: DESTINATIONS[destination], bankCode: '058' };
    return { accountNumber: this.#wallet(place + 1).accountNumber, bankCode: '999' };
  }

  async #credit(
    accountNumber: string,
    amount: number,
    sender?: string,
    sessionId: string = randomUUID(),
  ): Promise<void> {
    const from = sender === undefined ? {} : { senderAccountNumber: sender, senderBankCode: '058' };
    const body = { accountNumber, amount, ...from, sessionId };
    this.#expect(await this.#api.post('/simulations/inbound-credits', body));
  }

  /** A POST that moves money; null when it was refused for a good reason. */
  async #money(path: string, body: object): Promise<Resource | null> {
    const answer = await this.#api.money(path, body);
    this.#expect(answer);
    return answer.status < 300 ? answer.data : null;
  }

  #expect(answer: Answer): void {
    if (answer.status >= 300 && !REFUSALS.has(answer.error.code)) this.faults.push(answer.text);
  }

  /** The day ends: what is held is let go, what was to come late comes, and everything runs to its end. */
  async #settle(): Promise<void> {
    for (const accountNumber of [DESTINATIONS.isAway, DESTINATIONS.holds]) {
      await this.#api.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body: { behaviour: 'complete' } });
    }
    await waitFor(
      'all payments to end',
      () => this.#count('payments', "status IN ('pending', 'partial')"),
      SETTLED_LIMIT_MS,
    );
    await Promise.all(this.#late.map((send) => send()));
    await waitFor(
      'everything to come to its end',
      async () => {
        await this.#wake();
        const left = await Promise.all([
          this.#count('withdrawals', "status = 'processing'"),
          this.#count('refunds', "status = 'processing'"),
          this.#count('payouts', "status = 'processing'"),
          this.#count('payout_items', "status IN ('pending', 'processing')"),
          this.#count('inbound_credits', "status = 'received'"),
          this.#count('sandbox_bank.callbacks'),
          this.#count('outbox'),
        ]);
        return left.every(Boolean) && this.#postman.underway(this.organisation.organisationId) === 0;
      },
      SETTLED_LIMIT_MS,
    );
  }

  /** True when there are no such rows of this organisation. */
  async #count(table: string, where = 'true'): Promise<boolean> {
    const rows = await this.flows.sql.unsafe(`SELECT FROM ${table} WHERE organisation_id = $1 AND ${where} LIMIT 1`, [
      this.organisation.organisationId,
    ]);
    return rows.length === 0;
  }

  /**
   * Callbacks about whatever is under way, now and then: true ones, that say nothing new. Flows ask the bank when they
   * hear them, sooner than they would by themselves.
   */
  async #wake(): Promise<void> {
    if (Date.now() < this.#wakeAgainAt) return;
    this.#wakeAgainAt = Date.now() + WAKE_EVERY_MS;
    const { sql, services } = this.flows;
    const { organisationId } = this.organisation;
    const underWay = await sql<{ reference: string }[]>`
      SELECT r.reference FROM sandbox_bank.requests r
      LEFT JOIN sandbox_bank.transfers t USING (organisation_id, reference)
      WHERE r.organisation_id = ${organisationId} AND (t.reference IS NULL OR t.status = 'processing')`;
    await Promise.all(
      underWay.map(async ({ reference }) => {
        const body = JSON.stringify({ type: 'transfer_update', contract: organisationId, reference });
        await this.#postman.carry({ body, signature: signCallback(services.keyring, body, new Date()) });
      }),
    );
    await this.#free();
  }

  /** The bank is back: operators have what waits for them go on. A flow that is not parked does not mind. */
  async #free(): Promise<void> {
    const waiting = await this.flows.sql<{ kind: 'withdrawal' | 'refund' | 'payoutItem'; id: Uuid }[]>`
      SELECT kind, id FROM (
        SELECT 'withdrawal' AS kind, organisation_id, id, status FROM withdrawals
        UNION ALL SELECT 'refund', organisation_id, id, status FROM refunds
        UNION ALL SELECT 'payoutItem', organisation_id, id, status FROM payout_items
      ) open WHERE organisation_id = ${this.organisation.organisationId} AND status IN ('pending', 'processing')`;
    for (const { kind, id } of waiting) {
      try {
        await this.flows.temporal.workflow.getHandle(publicId(kind, id)).signal(retry, OPERATOR);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error; // it has just ended, or is about to start
      }
    }
  }
}

const OPERATOR = { operator: 'test', reason: 'a busy day' };
