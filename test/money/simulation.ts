// Executes the workload of a day for one organisation, through the API and its bank, and waits until no flow is in
// progress.
import { WorkflowNotFoundError } from '@temporalio/client';
import { type Destination, refundBody } from '../../dev/chaos/requests.ts';
import type { Command, Workload } from '../../dev/chaos/workload.ts';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import type { Answer, Client, Resource, TestOrganisation } from '../support/api.ts';
import type { PaymentResource, TestFlows } from '../support/flows.ts';
import { withCode } from '../support/operators.ts';
import type { ScenarioBank } from '../support/scenarioBank.ts';
import type { ScenarioContext } from '../support/scenarioContext.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { untilAnswered } from '../support/untilAnswered.ts';
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
const SETTLED_LIMIT_MS = 600_000;

interface TestWallet {
  id: string;
  accountNumber: string;
}

export class Simulation {
  readonly flows: TestFlows;
  readonly organisation: TestOrganisation;
  readonly bank: ScenarioBank;
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
    this.bank = stage.bank;
    this.#callbacks = callbacks;
  }

  async run({ faultSeed, batches }: Workload): Promise<void> {
    this.#callbacks.setFaultSeed(this.bank.contract, faultSeed);
    for (let count = 0; count < WALLETS; count += 1) {
      const id = await this.flows.createWallet(this.#api);
      const { data } = await this.#api.get(`/wallets/${id}/deposit-account`);
      this.#wallets.push({ id, accountNumber: String(data.accountNumber) });
    }
    await Promise.all(this.#wallets.map(({ accountNumber }) => this.bank.credit(accountNumber, FIRST_DEPOSIT)));
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
        await this.bank.credit(this.#wallet(command.to).accountNumber, command.amount);
        return;
      case 'depositToUnknownAccount':
        await this.bank.credit(null, command.amount);
        return;
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
        const account = await this.#bankAccount(command.destination, command.from);
        const body = { amount: command.amount, ...account };
        const withdrawal = await this.#money(`/wallets/${this.#wallet(command.from).id}/withdraw`, body);
        if (withdrawal !== null) this.#references.push(withdrawal.id);
        return;
      }
      case 'refund':
        return await this.#refund(command);
      case 'payout': {
        const sourceWalletId = this.#wallet(command.from).id;
        const items = await Promise.all(
          command.items.map(async ({ amount, destination }) => ({
            amount,
            bankAccount: await this.#bankAccount(destination, command.from),
          })),
        );
        const payout = await this.#money('/payouts', { sourceWalletId, items });
        for (const { id } of (payout?.items ?? []) as Resource[]) this.#references.push(id);
        return;
      }
      case 'endTransfer': {
        const reference = this.#references[command.transfer % this.#references.length];
        if (reference === undefined) return;
        const refusal = await this.bank.end(reference, command.outcome);
        if (refusal !== null && !REFUSALS.has(refusal)) this.faults.push(refusal);
        return;
      }
      case 'repeatCallback':
        return await this.#callbacks.repeat(this.bank.contract, command.callback);
      case 'freeze': {
        const wallet = requireUuid('wallet', this.#wallet(command.wallet).id);
        const status = command.frozen ? 'frozen' : 'active';
        await setWalletStatus(this.flows.sql, this.organisation.organisationId, wallet, status, OPERATOR);
      }
    }
  }

  #payment(method: Payment['method'], { base, to }: { base: number; to: number }): Promise<PaymentResource> {
    const baseAmount = Math.max(base, this.bank.minAmount);
    const request = { method, baseAmount, targetWalletId: this.#wallet(to).id, windowMs: WINDOW_MS };
    return createShortPayment(this.flows, this.organisation, request);
  }

  async #requestPayment(command: Extract<Command, { do: 'payment' }>): Promise<void> {
    const payment = await this.#payment('bank_transfer', command);
    const { accountNumber } = payment.virtualAccount;
    // A payer has an account.
    const payer = await this.bank.accountFor(command.payer === 'doesNotExist' ? 'completes' : command.payer);
    const send = async (): Promise<void> => {
      for (const [position, share] of command.shares.entries()) {
        const amount = Math.max(1, Math.round((payment.payableAmount * share) / 100));
        const name = `${payment.id}-${position}`;
        await this.bank.credit(accountNumber, amount, { payer, name });
        if (command.repeated) await this.bank.credit(accountNumber, amount, { payer, name });
      }
    };
    if (command.late) this.#late.push(send);
    else await send();
  }

  async #refund({ payment, percent, destination }: Extract<Command, { do: 'refund' }>): Promise<void> {
    const { items: settled } = await this.#api.get('/payments?status=settled&limit=100');
    const target = settled[payment % settled.length];
    if (target === undefined) return;
    const body = refundBody(target, { percent, accountNumber: await this.bank.accountFor(destination) });
    const refund = await this.#money(`/payments/${target.id}/refund`, body);
    if (refund !== null && refund.destination === 'bank') this.#references.push(refund.id);
  }

  /** A bank account at another bank, or the account number of one of our own wallets. */
  async #bankAccount(
    destination: Destination | 'ownWallet',
    position: number,
  ): Promise<{ accountNumber: string; bankCode: string }> {
    return destination === 'ownWallet'
      ? this.bank.ownAccount(this.#wallet(position + 1).accountNumber)
      : { accountNumber: await this.bank.accountFor(destination), bankCode: '058' };
  }

  /** A POST that moves money; null when it was refused. */
  async #money(path: string, body: object): Promise<Resource | null> {
    const response = await untilAnswered(this.#api, path, body);
    this.#expect(response);
    return response.status < 300 ? response.data : null;
  }

  #expect(response: Answer): void {
    if (response.status >= 300 && !REFUSALS.has(response.error.code)) this.faults.push(response.text);
  }

  /** Ends the day: the bank completes held transfers, late credits are sent, and all flows run to their end. */
  async #settle(): Promise<void> {
    await this.bank.release();
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
          this.bank.isQuiet(),
          this.#hasNone('outbox'),
        ]);
        return left.every(Boolean) && this.#callbacks.underway(this.bank.contract) === 0;
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
   * Sends valid callbacks without a status change for all transfers in progress, at intervals: flows then query the
   * bank, earlier than their timers would. The bank is available again by now, so operators retry all flows: the signal
   * has no effect on a flow that is not parked.
   */
  async #wake(): Promise<void> {
    if (Date.now() < this.#nextWakeAt) return;
    this.#nextWakeAt = Date.now() + WAKE_EVERY_MS;
    const waiting = await this.flows.sql<{ kind: 'withdrawal' | 'refund' | 'payoutItem'; id: Uuid }[]>`
      SELECT kind, id FROM (
        SELECT 'withdrawal' AS kind, organisation_id, id, status FROM withdrawals
        UNION ALL SELECT 'refund', organisation_id, id, status FROM refunds
        UNION ALL SELECT 'payoutItem', organisation_id, id, status FROM payout_items
      ) open WHERE organisation_id = ${this.organisation.organisationId} AND status IN ('pending', 'processing')`;
    const references = waiting.map(({ kind, id }) => publicId(kind, id));
    const { contract } = this.bank;
    await Promise.all(references.map((flow) => this.#callbacks.carry(contract, this.bank.updateOf(flow))));
    for (const flow of references) {
      try {
        const request = await withCode(this.flows.sql, flow, { operator: 'ada', reason: 'a busy day' });
        await this.flows.temporal.workflow.getHandle(flow).signal(retry, request);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error; // it has just ended, or is about to start
      }
    }
  }
}

const OPERATOR = { proof: OWNER_PROOF, reason: 'a busy day' };
