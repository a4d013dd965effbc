// The environment of one scenario of a money flow: a separate organisation, so that its book, events and bank contain
// nothing else, and the complete outcome of the flow can be read.
import type { WorkflowHandle } from '@temporalio/client';
import { parseId, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Kobo } from '../../src/money.ts';
import { updateFlow } from '../../src/outbox/startFlow.ts';
import { openBreak } from '../../src/reconciliation/movements.ts';
import { requestAdjustment, requestReversal } from '../../src/resources/adjustments/request.ts';
import type { Event } from '../../src/resources/events.ts';
import { recallFlowId, startReviewCase, wakeHold } from '../../src/resources/flows.ts';
import { findHold } from '../../src/resources/holds/queries.ts';
import { enqueue } from '../../src/resources/outbox.ts';
import { pauseRail, resumeRail } from '../../src/resources/rails/pauses.ts';
import { findCaseOf } from '../../src/resources/reviewCases/queries.ts';
import { ADJUSTMENT_ATTENTION } from '../../src/workflows/adjustment/decide.ts';
import { type AdjustmentAction, type AdjustmentDecision, decide } from '../../src/workflows/adjustment/messages.ts';
import { resolve, retry } from '../../src/workflows/attention/messages.ts';
import { HOLD_ATTENTION } from '../../src/workflows/hold/decide.ts';
import { decide as decideHold, type HoldAction } from '../../src/workflows/hold/messages.ts';
import type { DecisionAnswer } from '../../src/workflows/operators/messages.ts';
import { attentionOf } from '../../src/workflows/reviewCase/decide.ts';
import { type ReviewDecision, resolveCase } from '../../src/workflows/reviewCase/messages.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import type { Answer, Resource, TestOrganisation } from './api.ts';
import { documentedEvent } from './documented.ts';
import type { PaymentResource, TestFlows } from './flows.ts';
import { codeOf, OPERATORS, type OperatorName, withCode } from './operators.ts';
import { type ScenarioBank, type ScenarioBanks, sandboxBanks, type TransferOutcome } from './scenarioBank.ts';
import { createShortPayment } from './shortPayments.ts';
import { untilAnswered } from './untilAnswered.ts';
import { waitFor } from './waitFor.ts';

/** The outcome of a flow. */
export interface Outcome {
  /** The result of the workflow, which equals the resource's status in the API. */
  status: string;
  /**
   * Every account of the book with a balance; wallets by the name that the scenario gave them. `bank`: all accounts of
   * the rail together.
   */
  money: Record<string, Kobo>;
  /** Every event of the book, oldest first. */
  events: string[];
  /** Every review case, with its amount, the account that holds it, and its status. */
  reviews: string[];
  /** Every transfer at the bank, by status, and how often it was paid and returned. */
  bank: string[];
}

/** Each step may take three attempts, and a lost transfer takes three sends with two seconds between them. */
const SCENARIO_LIMIT_MS = 600_000;

/** Many scenarios run concurrently, so each polls at a long interval. */
export const LOOK_PAUSE_MIN_MS = 100;

export class ScenarioContext {
  readonly flows: TestFlows;
  readonly organisation: TestOrganisation;
  readonly bank: ScenarioBank;
  readonly #wallets = new Map<string, string>();
  #window: { windowMs: number; startsWithCredit: boolean } | null = null;

  constructor(flows: TestFlows, organisation: TestOrganisation, bank: ScenarioBank) {
    this.flows = flows;
    this.organisation = organisation;
    this.bank = bank;
  }

  get organisationId(): Uuid {
    return this.organisation.organisationId;
  }

  /** Creates a tier1 wallet, which has this name in outcomes. */
  async wallet(name: string, balance?: Kobo): Promise<string> {
    const id = await this.flows.createWallet(this.organisation.test);
    if (balance !== undefined) await this.flows.fund(this.organisationId, id, balance, this.bank.rail);
    this.#wallets.set(`wallet:${id}`, `wallet:${name}`);
    return id;
  }

  /** The number of the deposit account of a wallet. */
  async depositAccount(walletId: string): Promise<string> {
    return String((await this.organisation.test.get(`/wallets/${walletId}/deposit-account`)).data.accountNumber);
  }

  /** A POST that moves money; throws when it is refused. */
  async money(path: string, body: object): Promise<Resource> {
    return accepted(await untilAnswered(this.organisation.test, path, body, SCENARIO_LIMIT_MS));
  }

  async payment(targetWalletId: string, method: 'bank_transfer' | 'virtual_wallet'): Promise<PaymentResource> {
    const body = { method, baseAmount: 200_000, targetWalletId };
    return this.#window === null
      ? ((await this.money('/payments', body)) as PaymentResource)
      : await createShortPayment(this.flows, this.organisation, { ...body, ...this.#window });
  }

  /** The bank receives a credit to an account number; null: to one that we did not open. Returns its session id. */
  async credit(accountNumber: string | null, amount: Kobo, payer?: string): Promise<string> {
    const sessionId = await this.bank.credit(accountNumber, amount, payer === undefined ? {} : { payer });
    if (sessionId === null) throw new Error(`the bank sent ${amount} back`);
    return sessionId;
  }

  /** The bank takes a credit back. Waits until that is posted, and returns the flow of the recall. */
  async recall(sessionId: string): Promise<{ workflowId: string; path: null }> {
    await this.bank.recall(sessionId);
    return { workflowId: await this.untilRecallIs(sessionId, 'posted'), path: null };
  }

  /** The bank sends a valid, signed callback for a recall that it has not made. Returns the flow of the recall. */
  async unconfirmedRecall(sessionId: string): Promise<string> {
    await this.bank.announceRecall(sessionId);
    return await this.untilRecallIs(sessionId, 'received');
  }

  /** A credit that was reported, with its recall. */
  async #creditOf(sessionId: string): Promise<{ id: Uuid; status: string; recall: string | null } | undefined> {
    const [row] = await this.flows.sql<{ id: Uuid; status: string; recall: string | null }[]>`
      SELECT id, status, recall FROM inbound_credits
      WHERE organisation_id = ${this.organisationId} AND session_id = ${sessionId}`;
    return row;
  }

  async untilRecallIs(sessionId: string, expected: 'received' | 'posted'): Promise<string> {
    return await this.#until(`the recall to be ${expected}`, async () => {
      const row = await this.#creditOf(sessionId);
      return row?.recall === expected && recallFlowId(row.id);
    });
  }

  /** An operator sets the unconfirmed recall of this flow aside. */
  async setAsideRecall(workflowId: string, sessionId: string): Promise<void> {
    const decision = { action: 'set_aside', reason: 'the bank knows nothing of it' };
    await this.#resolve(workflowId, 'credit_unconfirmed', decision, async () => {
      return (await this.#creditOf(sessionId))?.recall === 'set_aside';
    });
  }

  /**
   * Operators decide about a parked flow. Repeated until it takes effect, because a terminated and restarted flow loses
   * the updates.
   */
  async #resolve(
    workflowId: string,
    reason: string,
    decision: { action: string; reason: string },
    hasTakenEffect: (flow: WorkflowHandle) => Promise<boolean>,
    operators: readonly OperatorName[] = ['ada'],
  ): Promise<void> {
    const flow = await this.untilAttention(workflowId, reason);
    await this.#until(`${decision.action} of ${workflowId} to take effect`, async () => {
      for (const operator of operators) {
        const args = await this.#message(workflowId, decision, operator);
        await flow.executeUpdate(resolve, { args }).catch(() => null); // not parked any more, or not yet again
      }
      return await hasTakenEffect(flow);
    });
  }

  /**
   * The bank sends a valid, signed callback for a credit that it does not have. Returns the session id, with which
   * `bankHas` adds the credit at the bank.
   */
  async unconfirmedCredit(accountNumber: string, amount: Kobo): Promise<string> {
    const sessionId = await this.bank.announceCredit(accountNumber, amount);
    await this.#until('the credit to be reported', async () => (await this.#creditOf(sessionId)) !== undefined);
    return sessionId;
  }

  /** Public ids of the credits that were reported, oldest first. */
  async creditIds(): Promise<string[]> {
    const rows = await this.flows.sql<{ id: Uuid }[]>`
      SELECT id FROM inbound_credits WHERE organisation_id = ${this.organisationId} ORDER BY created_at, id`;
    return rows.map(({ id }) => publicId('inboundCredit', id));
  }

  /** Public ids of the review cases, oldest first. */
  async caseIds(): Promise<string[]> {
    const rows = await this.flows.sql<{ id: Uuid }[]>`
      SELECT id FROM review_cases WHERE organisation_id = ${this.organisationId} ORDER BY created_at, id`;
    return rows.map(({ id }) => publicId('reviewCase', id));
  }

  /** Adds the reported credit at the bank, which may have taken it back by now. */
  bankHas(sessionId: string, options?: { recalled: boolean }): Promise<void> {
    return this.bank.bookAnnounced(sessionId, options);
  }

  async untilCreditIs(sessionId: string, ...expected: string[]): Promise<void> {
    await this.#until(`the credit to be ${expected.join(' or ')}`, async () =>
      expected.includes((await this.#creditOf(sessionId))?.status ?? ''),
    );
  }

  /** An operator sets aside the unconfirmed credit of this flow. */
  async setAside(workflowId: string, sessionId: string): Promise<void> {
    const decision = { action: 'set_aside', reason: 'the bank knows nothing of it' };
    await this.#resolve(workflowId, 'credit_unconfirmed', decision, async () => {
      return (await this.#creditOf(sessionId))?.status === 'set_aside';
    });
  }

  /** The arguments with which an operator sends a message to a flow. */
  async #message<Message extends object>(
    workflowId: string,
    message: Message & { action?: string; walletId?: string },
    operator: OperatorName = 'ada',
  ): Promise<[Message & { code: string }]> {
    const { code } = await withCode(this.flows.sql, workflowId, { ...message, operator });
    return [{ ...message, code }];
  }

  /** An operator leaves the account of a payment open. */
  async leaveAccountOpen(workflowId: string): Promise<void> {
    const decision = { action: 'dismiss', reason: 'the bank has closed for good' };
    await this.#resolve(workflowId, 'rail_unreachable', decision, async (flow) => {
      return (await flow.describe()).status.name === 'COMPLETED';
    });
  }

  async endTransfer(reference: string, outcome: TransferOutcome): Promise<void> {
    const refusal = await this.bank.end(reference, outcome);
    if (refusal !== null) throw new Error(`the bank refused to ${outcome} ${reference}: ${refusal}`);
  }

  async status(path: string): Promise<string> {
    return (await this.organisation.test.get(path)).data.status;
  }

  async untilStatus(path: string, expected: string): Promise<void> {
    await this.#until(`${path} to be ${expected}`, async () => (await this.status(path)) === expected);
  }

  /** Waits until this number of credits is received and processed. Returns their public ids, oldest first. */
  async untilApplied(count: number): Promise<string[]> {
    const credits = await this.#until('all credits to be processed', async () => {
      const rows = await this.flows.sql<{ id: Uuid; status: string }[]>`
          SELECT id, status FROM inbound_credits WHERE organisation_id = ${this.organisationId} ORDER BY created_at, id`;
      return rows.length === count && rows.every(({ status }) => status !== 'received') && rows;
    });
    return credits.map(({ id }) => publicId('inboundCredit', id));
  }

  /**
   * Shortens the window of payments that are created from now on, because the minimum of the API is too long for a
   * test. With `startsWithCredit` the first credit starts the flow.
   */
  shortenWindows(windowMs: number, { startsWithCredit } = { startsWithCredit: false }): void {
    this.#window = { windowMs, startsWithCredit };
  }

  async untilEvent(type: string): Promise<void> {
    await this.untilCount(type, 1);
  }

  /** Waits until this number of events of the type is written. */
  async untilCount(type: string, count: number): Promise<void> {
    await this.#until(`${count} events ${type}`, async () => {
      const found = await this.flows.sql`
          SELECT FROM events WHERE organisation_id = ${this.organisationId} AND type = ${type}`;
      return found.length >= count;
    });
  }

  /** Two operators decide the outcome of a parked bank transfer. */
  async decideParked(workflowId: string, action: 'complete' | 'fail' | 'return'): Promise<void> {
    const cause = action === 'return' ? 'rail_contradiction' : 'rail_unreachable';
    const before = action === 'return' ? ['completed', 'returned_to_sender'] : ['pending', 'processing', 'returning'];
    const isDecided = async () => !(await this.#isTransfer(workflowId, before));
    await this.#resolve(workflowId, cause, { action, reason: 'confirmed by the bank in writing' }, isDecided, [
      'ada',
      'ngozi',
    ]);
  }

  /** Whether this bank transfer has one of these statuses in the database. */
  async #isTransfer(transferId: string, statuses: string[]): Promise<boolean> {
    const uuid = (['withdrawal', 'refund', 'payoutItem', 'reviewCase'] as const)
      .map((kind) => parseId(kind, transferId))
      .find((id) => id !== null);
    const rows = await this.flows.sql`
      SELECT FROM (SELECT organisation_id, id, status FROM withdrawals
                   UNION ALL SELECT organisation_id, id, status FROM refunds
                   UNION ALL SELECT organisation_id, id, status FROM payout_items
                   UNION ALL SELECT organisation_id, id, status FROM review_cases) transfers
      WHERE organisation_id = ${this.organisationId} AND id = ${uuid ?? null} AND status = ANY (${statuses}::text[])`;
    return rows.length > 0;
  }

  /** Sets how the sandbox bank handles transfers to this account, in every way that it knows. */
  async bankAnswers(accountNumber: string, behaviour: string): Promise<void> {
    const path = `/simulations/bank-accounts/${accountNumber}`;
    accepted(await this.organisation.test.call('PUT', path, { body: { behaviour } }));
  }

  /** Opens a reconciliation break: a transfer on the bank's statement that the ledger does not have. */
  async findBreak(reference: string, amount: Kobo): Promise<void> {
    const book = { organisationId: this.organisationId, environment: 'test' as const };
    const statementBreak = {
      kind: 'unmatched_statement',
      line: 'sent',
      reference,
      ledgerAmount: null,
      statementAmount: amount,
      at: new Date(),
      occurrence: 1,
    } as const;
    await this.flows.dependencies.journal.post(openBreak(book, this.bank.rail, statementBreak));
  }

  /** Operators resolve the only review case, once it is open: a second one if it needs two. Returns its public id. */
  async decideReview(decision: Pick<ReviewDecision, 'action' | 'walletId' | 'evidence'>): Promise<string> {
    const { caseId, reason } = await this.#until('a review case', async () => {
      const [row] = await this.flows.sql<{ id: Uuid; reason: string }[]>`
          SELECT id, reason FROM review_cases WHERE organisation_id = ${this.organisationId} AND status = 'open'`;
      return row && { caseId: publicId('reviewCase', row.id), reason: row.reason };
    });
    const flow = await this.untilAttention(caseId, attentionOf(reason));
    const versionOf = async (): Promise<number | undefined> => {
      const [row] = await this.flows.sql<{ version: number }[]>`
        SELECT version FROM review_cases WHERE organisation_id = ${this.organisationId} AND id = ${requireUuid('reviewCase', caseId)}`;
      return row?.version;
    };
    const before = await versionOf();
    // A flow that is terminated during the update returns no result: the version of the row then shows whether it was
    // applied.
    await this.#until(`${caseId} to be resolved`, async () => {
      for (const operator of ['ada', 'ngozi'] as const) {
        const args = await this.#message(caseId, { ...decision, reason: 'the payer called' }, operator);
        const result = await flow.executeUpdate(resolveCase, { args }).catch(() => null);
        if (result?.outcome === 'refused') throw new Error(result.message);
        if (result?.outcome === 'done') return true;
      }
      return (await versionOf()) !== before;
    });
    return caseId;
  }

  /** An operator decides about unclaimed money, which restarts the flow of its case. Repeated until it takes effect. */
  async claim(caseId: string, decision: Pick<ReviewDecision, 'action' | 'walletId'>): Promise<void> {
    await this.untilQuiet(caseId);
    const { sql, temporal, dependencies } = this.flows;
    const read = () => findCaseOf(sql, this.organisationId, requireUuid('reviewCase', caseId));
    await this.#until(`${caseId} to be claimed`, async () => {
      const row = await read();
      if (row?.status !== 'unclaimed') return true;
      const { message } = startReviewCase({ organisationId: this.organisationId, environment: 'test' }, row);
      for (const operator of ['ada', 'ngozi'] as const) {
        const args = await this.#message(caseId, { ...decision, reason: 'the owner has called' }, operator);
        const update = { name: resolveCase.name, args };
        const answer = await updateFlow<DecisionAnswer>(
          temporal,
          dependencies.config.temporal.taskQueue,
          message,
          update,
        ).catch(() => null); // the flow was terminated during the update
        if (answer?.outcome === 'done') break;
      }
      return (await read())?.status !== 'unclaimed';
    });
  }

  /** Ada requests an adjustment, or the reversal of one. Returns its public id. */
  async requestAdjustment(what: readonly Posting[] | { reverses: string }): Promise<string> {
    const book = { organisationId: this.organisationId, environment: 'test' as const };
    const grounds = { reason: 'the bank paid nothing', evidence: 'ticket 1234', proof: OPERATORS.ada.proof };
    const { dependencies } = this.flows;
    const outcome =
      'reverses' in what
        ? await requestReversal(dependencies, book, requireUuid('adjustment', what.reverses), grounds)
        : await requestAdjustment(dependencies, book, what, grounds);
    if (outcome.outcome === 'refused') throw new Error(outcome.message);
    return publicId('adjustment', outcome.id);
  }

  /**
   * Ngozi decides about an adjustment. Repeated until there is an outcome, because a terminated and restarted flow
   * loses the update.
   */
  async decideAdjustment(id: string, action: AdjustmentAction): Promise<DecisionAnswer['outcome']> {
    const flow = await this.untilAttention(id, ADJUSTMENT_ATTENTION);
    return await this.#until(`${id} to be decided`, async () => {
      const code = await codeOf(this.flows.sql, 'ngozi', id, action);
      const args: [AdjustmentDecision] = [{ action, reason: 'checked', code }];
      const answer = await flow.executeUpdate(decide, { args }).catch(() => null);
      if (answer !== null) return answer.outcome;
      const [row] = await this.flows.sql<{ status: string }[]>`
        SELECT status FROM adjustments
        WHERE organisation_id = ${this.organisationId} AND id = ${requireUuid('adjustment', id)}`;
      return row?.status !== 'requested' && 'done';
    });
  }

  /** A hold is due now, and its flow is signalled. */
  async makeDue(id: string): Promise<void> {
    const { sql } = this.flows;
    const book = { organisationId: this.organisationId, environment: 'test' as const };
    await sql`
      UPDATE holds SET release_at = now() WHERE organisation_id = ${book.organisationId} AND id = ${requireUuid('hold', id)}`;
    const hold = await findHold(sql, book, requireUuid('hold', id));
    if (hold === null) throw new Error(`there is no hold ${id}`);
    await enqueue(sql, book, wakeHold(book, hold));
  }

  /** Ada decides about a hold that its wallet refuses. Repeated as the decision about an adjustment. */
  async decideHold(id: string, action: HoldAction): Promise<void> {
    const flow = await this.untilAttention(id, HOLD_ATTENTION);
    await this.#until(`${id} to be decided`, async () => {
      const args = await this.#message(id, { action, reason: 'both have agreed' });
      await flow.executeUpdate(decideHold, { args }).catch(() => null);
      return (await this.status(`/holds/${id}`)) !== 'held';
    });
  }

  /** An operator pauses the rail, for every organisation, or resumes it. */
  async pauseRail(paused: boolean): Promise<void> {
    const note = { proof: OPERATORS.ada.proof, reason: 'maintenance at the bank' };
    await (paused ? pauseRail : resumeRail)(this.flows.sql, 'test', note);
  }

  /** The workflow id of the last flow of a type that is not of this organisation. */
  async lastFlow(workflow: 'railResume' | 'dayProof'): Promise<string> {
    const { taskQueue } = this.flows.dependencies.config.temporal;
    const query = `WorkflowType = '${workflow}' AND TaskQueue STARTS_WITH '${taskQueue}'`;
    return await this.#until(`the ${workflow} to be listed`, async () => {
      for await (const { workflowId } of this.flows.temporal.workflow.list({ query })) return workflowId;
      return undefined;
    });
  }

  /** Freezes an account of the book in the database, which no operator command can do, or makes it active again. */
  async freezeAccount(code: string, frozen: boolean): Promise<void> {
    await this.flows.sql`
      UPDATE ledger.accounts SET status = ${frozen ? 'frozen' : 'active'}
      WHERE organisation_id = ${this.organisationId} AND code = ${code}`;
  }

  /** The database refuses to complete payouts, of every organisation, or accepts it again. */
  async refusePayouts(refuses: boolean): Promise<void> {
    await (refuses
      ? this.flows.sql`ALTER TABLE payouts ADD CONSTRAINT never_completed CHECK (status <> 'completed')`
      : this.flows.sql`ALTER TABLE payouts DROP CONSTRAINT never_completed`);
  }

  /** The bank has accepted this transfer. */
  async untilSent(reference: string): Promise<void> {
    await this.#until(`the bank to have ${reference}`, async () => {
      return (await this.bank.transfers()).some((transfer) => transfer.reference === reference);
    });
  }

  /** The sandbox bank no longer finds a transfer that it has accepted, or finds it again. */
  async hideTransfer(reference: string, hidden: boolean): Promise<void> {
    const [from, to] = hidden ? [reference, `hidden ${reference}`] : [`hidden ${reference}`, reference];
    const changed = await this.flows.sql`
      UPDATE sandbox_bank.transfers SET reference = ${to}
      WHERE organisation_id = ${this.organisationId} AND reference = ${from} RETURNING true`;
    if (changed.length !== 1) throw new Error(`the bank has no transfer ${from}`);
  }

  /** One operator decides about a flow that is parked for this reason. */
  async decideAttention(workflowId: string, reason: string, action: 'retry' | 'dismiss'): Promise<void> {
    const flow = await this.untilAttention(workflowId, reason);
    const args = await this.#message(workflowId, { action, reason: 'settled with the bank' });
    await flow.executeUpdate(resolve, { args });
  }

  /** An operator has a parked flow continue, by the signal that a batch of flows is sent. */
  async retryParked(workflowId: string, reason: string): Promise<void> {
    const flow = await this.untilAttention(workflowId, reason);
    await flow.signal(retry, ...(await this.#message(workflowId, { reason: 'the bank is back' })));
  }

  /** The id of the current run of a flow, once it has started. */
  async runOf(workflowId: string): Promise<string> {
    const flow = this.flows.temporal.workflow.getHandle(workflowId);
    return await this.#until(`${workflowId} to start`, async () => (await flow.describe().catch(() => null))?.runId);
  }

  /** The id of the first run of a flow. */
  async firstRunOf(workflowId: string): Promise<string> {
    const { raw } = await this.flows.temporal.workflow.getHandle(workflowId).describe();
    return raw.workflowExecutionInfo?.firstRunId ?? '';
  }

  /** Waits until a flow has continued as new. */
  async untilContinued(workflowId: string): Promise<void> {
    const runId = await this.runOf(workflowId);
    await this.#until(`${workflowId} to continue as new`, async () => (await this.runOf(workflowId)) !== runId);
  }

  /** An activity of the flow waits for its next attempt. */
  async untilRepeated(workflowId: string): Promise<void> {
    const flow = this.flows.temporal.workflow.getHandle(workflowId);
    await this.#until(`a step of ${workflowId} to be repeated`, async () => {
      const { raw } = await flow.describe();
      return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 1);
    });
  }

  /** An operator ends a flow, whatever it is doing. */
  async endFlow(workflowId: string): Promise<void> {
    await this.flows.temporal.workflow.getHandle(workflowId).terminate('test');
  }

  /** A flow asks for a person, for this reason. */
  async untilAttention(workflowId: string, reason: string): Promise<WorkflowHandle> {
    const flow = this.flows.temporal.workflow.getHandle(workflowId);
    await this.#until(`${workflowId} to need attention`, async () => {
      const described = await flow.describe().catch(() => null); // not started yet
      return described?.typedSearchAttributes.get(ATTENTION) === reason;
    });
    return flow;
  }

  /** The list of flows, which lags behind, has this flow with the reason. */
  async untilListed(workflowId: string, reason: string): Promise<void> {
    const query = `WorkflowId = '${workflowId}' AND Attention = '${reason}'`;
    await this.#until(`${workflowId} to be listed`, async () => {
      return (await this.flows.temporal.workflow.count(query)).count > 0;
    });
  }

  /** Waits until the bank has sent all callbacks, the outbox is empty, and the flow has ended. Returns its result. */
  async untilQuiet(workflowId: string): Promise<{ status: string }> {
    await this.#until('callbacks and outbox to be empty', async () => {
      if (!(await this.bank.isQuiet())) return false;
      const waiting = await this.flows.sql`
        SELECT FROM outbox WHERE organisation_id = ${this.organisationId} AND topic <> 'scheduled' LIMIT 1`;
      return waiting.length === 0;
    });
    return await this.flows.temporal.workflow.result(workflowId);
  }

  /** Waits as `untilQuiet` does and returns the outcome. `path`: the resource in the API, if the flow has one. */
  async outcome(workflowId: string, path: string | null): Promise<Outcome> {
    const { status } = await this.untilQuiet(workflowId);
    const statuses = [...new Set([status, path === null ? status : await this.status(path)])];
    return { status: statuses.join(' and '), ...(await this.traces()) };
  }

  /** The current outcome without the status. */
  async traces(): Promise<Omit<Outcome, 'status'>> {
    const { organisationId } = this;
    const { sql } = this.flows;
    const accounts = await sql<{ code: string; balance: Kobo }[]>`
      SELECT a.code, sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END)::bigint AS balance
      FROM ledger.accounts a JOIN ledger.postings p
        ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
      WHERE a.organisation_id = ${organisationId} GROUP BY a.code ORDER BY a.code`;
    const events = await sql<Event[]>`
      SELECT id, type, resource, sequence, data, created_at FROM events WHERE organisation_id = ${organisationId} ORDER BY created_at, id`;
    for (const [resource, ofResource] of Map.groupBy(events, (event) => event.resource)) {
      const sequences = ofResource.map(({ sequence }) => sequence).toSorted((a, b) => a - b);
      const gap = sequences.findIndex((sequence, index) => sequence !== index + 1);
      if (gap >= 0) throw new Error(`the events of ${resource} are numbered ${sequences.join(', ')}`);
    }
    const reviews = await sql<{ reason: string; amount: Kobo; status: string; accountCode: string | null }[]>`
      SELECT reason, amount, status, account_code FROM review_cases WHERE organisation_id = ${organisationId}
      ORDER BY created_at, id`;
    const transfers = await this.bank.transfers();
    const money: Record<string, Kobo> = {};
    for (const { code, balance } of accounts) {
      const name = this.#nameOf(code);
      money[name] = (money[name] ?? 0) + balance;
    }
    return {
      money: Object.fromEntries(Object.entries(money).filter(([, balance]) => balance !== 0)),
      events: withItemsSorted(events.map((event) => documentedEvent(event).type)),
      reviews: reviews.map(
        ({ reason, amount, accountCode, status }) =>
          `${reason}: ${amount} of ${accountCode === null ? 'nothing' : this.#nameOf(accountCode)}, ${status}`,
      ),
      bank: transfers.map((one) => `${one.status}, paid ${one.paid} times, returned ${one.returned} times`),
    };
  }

  #until<Found>(what: string, check: () => Promise<Found | undefined | null | false>): Promise<Found> {
    return waitFor(what, check, SCENARIO_LIMIT_MS, LOOK_PAUSE_MIN_MS);
  }

  /** An account code without the ids of this run, and without the rail. */
  #nameOf(code: string): string {
    if (code === `clearing:${this.bank.rail}` || code === `float:${this.bank.rail}`) return 'bank';
    return this.#wallets.get(code) ?? code.replace(/:svc_\w+$/, '');
  }
}

function accepted(response: Answer): Resource {
  if (response.status >= 300) throw new Error(`refused: ${response.text}`);
  return response.data;
}

/** Prepares the database of these flows. Returns a function that opens a new scenario context. */
export async function openScenarios(
  flows: TestFlows,
  banks: ScenarioBanks = sandboxBanks(),
): Promise<() => Promise<ScenarioContext>> {
  await banks.start(flows);
  return async () => {
    const organisation = await flows.createOrganisation();
    return new ScenarioContext(flows, organisation, await banks.open(flows, organisation));
  };
}

/** Items of a payout end in any order: their events are sorted, between those of other resources. */
function withItemsSorted(types: readonly string[]): string[] {
  const isOfItem = (type: string | undefined): boolean => type?.startsWith('payout.item_') === true;
  const runs: string[][] = [];
  for (const type of types) {
    const run = runs.at(-1);
    if (run !== undefined && isOfItem(type) && isOfItem(run[0])) run.push(type);
    else runs.push([type]);
  }
  return runs.flatMap((run) => run.toSorted());
}
