// Executes the workload of a day for one organisation, through the API and the sandbox bank, and waits until no flow is
// in progress.
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { bankAccountOf, DESTINATIONS, type Destination, refundBody } from '../../dev/chaos/requests.ts';
import type { Command, Workload } from '../../dev/chaos/workload.ts';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { signCallback } from '../../src/rail/sandbox/callbacks.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import type { Answer, Client, Resource, TestOrganisation } from '../support/api.ts';
import type { PaymentResource, TestFlows } from '../support/flows.ts';
import { withCode } from '../support/operators.ts';
import type { ScenarioContext } from '../support/scenarioContext.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { waitFor } from '../support/waitFor.ts';
import type { UnreliableCallbacks } from './unreliableCallbacks.ts';

/** The errors that a client may receive. Every other error is a fault, including every 5xx. */
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
/** Payments expire during the day, some before their credits arrive. */
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
  /** Error responses that are not in REFUSALS. */
  readonly faults: string[] = [];
  readonly #callbacks: UnreliableCallbacks;
  readonly #wallets: TestWallet[] = [];
  /** References of outgoing transfers. */
  readonly #references: string[] = [];
  /** Sends credits that payers make after the expiry of the payment. */
  readonly #late: (() => Promise<void>)[] = [];
  #nextWakeAt = 0;

  constructor(stage: ScenarioContext, callbacks: UnreliableCallbacks) {
    this.flows = stage.flows;
    this.organisation = stage.organisation;
    this.#callbacks = callbacks;
  }

  async run({ faultSeed, batches }: Workload): Promise<void> {
    this.#callbacks.setFaultSeed(this.organisation.organisationId, faultSeed);
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

  #wallet(position: number): TestWallet {
    return this.#wallets[position % this.#wallets.length] as TestWallet;
  }

  async #do(command: Command): Promise<void> {
    switch (command.do) {
      case 'deposit':
        return await this.#credit(this.#wallet(command.to).accountNumber, command.amount);
      case 'depositToUnknownAccount':
        return await this.#credit('1234567890', command.amount);
      case 'payment':
        return await this.#requestPayment(command);
      case 'transfer': {
        const body = { destinationWalletId: this.#wallet(command.to).id, amount: command.amount };
        await this.#money(`/wallets/${this.#wallet(command.from).id}/transfer`, body);
        return;
      }
      case 'pay': {
        const payment = await this.#payment('virtual_wallet', command);
        await this.#money(`/wallets/${this.#wallet(command.from).id}/pay`, { paymentId: payment.id });
        return;
      }
      case 'withdraw': {
        const body = { amount: command.amount, ...this.#bankAccount(command.destination, command.from) };
        const withdrawal = await this.#money(`/wallets/${this.#wallet(command.from).id}/withdraw`, body);
        if (withdrawal !== null) this.#references.push(withdrawal.id);
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
        const payout = await this.#money('/payouts', { sourceWalletId, items });
        for (const { id } of (payout?.items ?? []) as Resource[]) this.#references.push(id);
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
        return await this.#callbacks.repeat(this.organisation.organisationId, command.callback);
      case 'freeze': {
        const wallet = requireUuid('wallet', this.#wallet(command.wallet).id);
        const status = command.frozen ? 'frozen' : 'active';
        await setWalletStatus(this.flows.sql, this.organisation.organisationId, wallet, status, OPERATOR);
      }
    }
  }

  #payment(method: Payment['method'], { base, to }: { base: number; to: number }): Promise<PaymentResource> {
    const request = { method, baseAmount: base, targetWalletId: this.#wallet(to).id, windowMs: WINDOW_MS };
    return createShortPayment(this.flows, this.organisation, request);
  }

  async #requestPayment(command: Extract<Command, { do: 'payment' }>): Promise<void> {
    const payment = await this.#payment('bank_transfer', command);
    const { accountNumber } = payment.virtualAccount;
    const sender = DESTINATIONS[command.payer];
    const send = async (): Promise<void> => {
      for (const [position, share] of command.shares.entries()) {
        const amount = Math.max(1, Math.round((payment.payableAmount * share) / 100));
        const sessionId = `${payment.id}-${position}`;
        await this.#credit(accountNumber, amount, sender, sessionId);
        if (command.repeated) await this.#credit(accountNumber, amount, sender, sessionId);
      }
    };
    if (command.late) this.#late.push(send);
    else await send();
  }

  async #refund({ payment, percent, destination }: Extract<Command, { do: 'refund' }>): Promise<void> {
    const { items: settled } = await this.#api.get('/payments?status=settled&limit=100');
    const target = settled[payment % settled.length];
    if (target === undefined) return;
    const body = refundBody(target, { percent, destination });
    const refund = await this.#money(`/payments/${target.id}/refund`, body);
    if (refund !== null && refund.destination === 'bank') this.#references.push(refund.id);
  }

  #bankAccount(destination: Destination | 'ownWallet', position: number): object {
    return bankAccountOf(destination, this.#wallet(position + 1).accountNumber);
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

  /** A POST that moves money; null when it was refused. */
  async #money(path: string, body: object): Promise<Resource | null> {
    const response = await this.#api.money(path, body);
    this.#expect(response);
    return response.status < 300 ? response.data : null;
  }

  #expect(response: Answer): void {
    if (response.status >= 300 && !REFUSALS.has(response.error.code)) this.faults.push(response.text);
  }

  /** Ends the day: the bank completes held transfers, late credits are sent, and all flows run to their end. */
  async #settle(): Promise<void> {
    for (const accountNumber of [DESTINATIONS.unavailable, DESTINATIONS.holds]) {
      await this.#api.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body: { behaviour: 'complete' } });
    }
    await waitFor(
      'all payments to end',
      () => this.#hasNone('payments', "status IN ('pending', 'partial')"),
      SETTLED_LIMIT_MS,
    );
    await Promise.all(this.#late.map((send) => send()));
    await waitFor(
      'all flows to end',
      async () => {
        await this.#wake();
        const left = await Promise.all([
          this.#hasNone('withdrawals', "status = 'processing'"),
          this.#hasNone('refunds', "status = 'processing'"),
          this.#hasNone('payouts', "status = 'processing'"),
          this.#hasNone('payout_items', "status IN ('pending', 'processing')"),
          this.#hasNone('inbound_credits', "status = 'received'"),
          this.#hasNone('sandbox_bank.callbacks'),
          this.#hasNone('outbox'),
        ]);
        return left.every(Boolean) && this.#callbacks.underway(this.organisation.organisationId) === 0;
      },
      SETTLED_LIMIT_MS,
    );
  }

  /** Whether this organisation has no such rows. */
  async #hasNone(table: string, where = 'true'): Promise<boolean> {
    const rows = await this.flows.sql.unsafe(`SELECT FROM ${table} WHERE organisation_id = $1 AND ${where} LIMIT 1`, [
      this.organisation.organisationId,
    ]);
    return rows.length === 0;
  }

  /**
   * Sends valid callbacks without a status change for all transfers in progress, at intervals. Flows then query the
   * bank, earlier than their timers would.
   */
  async #wake(): Promise<void> {
    if (Date.now() < this.#nextWakeAt) return;
    this.#nextWakeAt = Date.now() + WAKE_EVERY_MS;
    const { sql, dependencies } = this.flows;
    const { organisationId } = this.organisation;
    const underWay = await sql<{ reference: string }[]>`
      SELECT r.reference FROM sandbox_bank.requests r
      LEFT JOIN sandbox_bank.transfers t USING (organisation_id, reference)
      WHERE r.organisation_id = ${organisationId} AND (t.reference IS NULL OR t.status = 'processing')`;
    await Promise.all(
      underWay.map(async ({ reference }) => {
        const body = JSON.stringify({ type: 'transfer_update', contract: organisationId, reference });
        await this.#callbacks.carry({ body, signature: signCallback(dependencies.keyring, body, new Date()) });
      }),
    );
    await this.#retryFlows();
  }

  /** The bank is available again: operators retry all flows. The signal has no effect on a flow that is not parked. */
  async #retryFlows(): Promise<void> {
    const waiting = await this.flows.sql<{ kind: 'withdrawal' | 'refund' | 'payoutItem'; id: Uuid }[]>`
      SELECT kind, id FROM (
        SELECT 'withdrawal' AS kind, organisation_id, id, status FROM withdrawals
        UNION ALL SELECT 'refund', organisation_id, id, status FROM refunds
        UNION ALL SELECT 'payoutItem', organisation_id, id, status FROM payout_items
      ) open WHERE organisation_id = ${this.organisation.organisationId} AND status IN ('pending', 'processing')`;
    for (const { kind, id } of waiting) {
      try {
        const flow = publicId(kind, id);
        const request = await withCode(this.flows.sql, flow, { operator: 'ada', reason: 'a busy day' });
        await this.flows.temporal.workflow.getHandle(flow).signal(retry, request);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error; // it has just ended, or is about to start
      }
    }
  }
}

const OPERATOR = { operator: { id: null, name: 'test' }, reason: 'a busy day' };
