// A scripted bank behind the rail port, whose transfers end immediately unless a test holds them, and the service with
// payout flows that run against it.
import { requireUuid } from '../../src/ids.ts';
import { startFlow } from '../../src/outbox/startFlow.ts';
import type { BankRail, TransferInstruction, TransferReport } from '../../src/rail/port.ts';
import { startPayout, wakePayoutItem } from '../../src/resources/flows.ts';
import { findPayout, findPayoutItem } from '../../src/resources/payouts/queries.ts';
import type { TestSettings } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { reportOf } from '../support/scriptedRail.ts';

/** How the bank handles transfers to an account. */
type Manner = 'complete' | 'reject' | 'hold';

export class ObedientBank {
  /** The transfers that it accepted, by reference. */
  readonly taken = new Map<string, TransferReport>();
  /** How often each reference was sent. */
  readonly sends = new Map<string, number>();
  readonly manners = new Map<string, Manner>();
  /** Awaited before every response to a send. */
  gate: Promise<void> = Promise.resolve();
  /** Awaited before every response to a status query. */
  statusGate: Promise<void> = Promise.resolve();
  /** The transfers that it has reported as ended, in that order. */
  readonly reported = new Set<string>();
  /** By account number: thrown by the next send to it, before the bank records the send. */
  readonly sendFaults = new Map<string, Error>();
  /** By account number: thrown by every name enquiry about it. */
  readonly enquiryFaults = new Map<string, Error>();

  /** The rails with this bank in place of the sandbox bank. */
  readonly rails = changedRail(
    (): Partial<BankRail> => ({
      resolveAccount: ({ accountNumber }) => {
        const fault = this.enquiryFaults.get(accountNumber);
        return fault === undefined ? Promise.resolve({ accountName: 'ADA OBI' }) : Promise.reject(fault);
      },
      sendTransfer: (instruction) => this.#take(instruction),
      transferStatus: async ({ reference }) => {
        await this.statusGate;
        return this.#report(this.taken.get(reference) ?? null);
      },
    }),
  );

  /** Sets the final status of a transfer. */
  end(reference: string, status: TransferReport['status']): void {
    const report = this.taken.get(reference);
    if (report === undefined) throw new Error(`the bank has not accepted ${reference}`);
    this.taken.set(reference, { ...report, status, reason: status === 'returned' ? 'Account dormant' : null });
  }

  #report<Report extends TransferReport | null>(report: Report): Report {
    if (report !== null && report.status !== 'processing') this.reported.add(report.reference);
    return report;
  }

  async #take({ reference, accountNumber }: TransferInstruction): Promise<TransferReport> {
    await this.gate;
    const fault = this.sendFaults.get(accountNumber);
    this.sendFaults.delete(accountNumber);
    if (fault !== undefined) throw fault;
    this.sends.set(reference, (this.sends.get(reference) ?? 0) + 1);
    const known = this.taken.get(reference);
    if (known !== undefined) return this.#report(known);
    const manner = this.manners.get(accountNumber) ?? 'complete';
    const report: TransferReport = {
      ...reportOf(reference, manner === 'hold' ? 'processing' : manner === 'complete' ? 'completed' : 'failed'),
      reason: manner === 'reject' ? 'Account closed' : null,
    };
    this.taken.set(reference, report);
    return this.#report(report);
  }
}

export interface PayoutFlows extends TestFlows {
  bank: ObedientBank;
  /** Starts the flow of a payout again after a run of the same id has ended. */
  startAgain: (payoutId: string) => Promise<void>;
  /** Signals the flow of an item, as the API does on the bank's callback. */
  wakeItem: (itemId: string, organisation?: Pick<TestFlows['organisation'], 'organisationId'>) => Promise<void>;
}

export async function startPayoutFlows(settings: TestSettings): Promise<PayoutFlows> {
  const bank = new ObedientBank();
  const flows = await startTestFlows({
    rails: bank.rails,
    settings: { WORKER_ROLES: 'flows,payouts,relay', ...settings },
  });
  const { temporal, sql } = flows;
  const { taskQueue } = flows.dependencies.config.temporal;
  const bookOf = ({ organisationId }: { organisationId: string }) => ({ organisationId, environment: 'test' as const });
  return {
    ...flows,
    bank,
    startAgain: async (payoutId) => {
      const book = bookOf(flows.organisation);
      const row = await findPayout(sql, book, requireUuid('payout', payoutId));
      if (row === null) throw new Error(`no payout ${payoutId}`);
      await startFlow(temporal, taskQueue, { ...startPayout(book, row).message, allowRestart: true });
    },
    wakeItem: async (itemId, organisation = flows.organisation) => {
      const book = bookOf(organisation);
      const row = await findPayoutItem(sql, book, requireUuid('payoutItem', itemId));
      if (row === null) throw new Error(`no payout item ${itemId}`);
      await startFlow(temporal, taskQueue, wakePayoutItem(book, row).message);
    },
  };
}
