// Review cases: an operator's decision about money in suspense is posted; a break is closed without a posting; an
// unconfirmed credit is closed, or processed after all. And the return of the money as a bank transfer.
import type { Sql } from '../database/pool.ts';
import { parseId, publicId, requireUuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { findBreak } from '../reconciliation/queries.ts';
import type { FailureCode } from '../resources/failureCodes.ts';
import { findRecalledAway } from '../resources/inboundCredits/queries.ts';
import { flowOf } from '../resources/inboundCredits/receive.ts';
import { decisionOf, refusalText, versionText } from '../resources/operators.ts';
import { type DecisionProblem, decisionMovement } from '../resources/reviewCases/decisions.ts';
import { closeCase, completeReturn, receiveAfterAll, returnToSuspense } from '../resources/reviewCases/movements.ts';
import {
  findPaymentOfCase,
  findReviewCase,
  findSenders,
  type ReturnFailure,
  type ReviewCase,
  returnReference,
} from '../resources/reviewCases/queries.ts';
import type { TransferState } from '../workflows/bankTransfer/decide.ts';
import { bookOf } from '../workflows/flows.ts';
import { refuseAction } from '../workflows/operators/decide.ts';
import type { AppliedDecision } from '../workflows/operators/messages.ts';
import { type AttemptStatus, choicesOf, decideAfterAttempt, limitOf } from '../workflows/reviewCase/decide.ts';
import type {
  ReviewCaseActivities,
  ReviewCaseInput,
  ReviewCaseSnapshot,
  ReviewDecision,
} from '../workflows/reviewCase/messages.ts';
import { instructionOf, queryRail, type TransferAdapter } from './bankTransfers.ts';
import { queryCredit, readCredit } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation, requireRow } from './failures.ts';
import { retryOnConflict } from './posting.ts';

type Sender = Awaited<ReturnType<typeof findSenders>>[number];

/** The state of a case as a bank transfer. Unless it is in progress or done, it failed or was returned. */
function transferStateOf({ status, failure }: ReviewCase): TransferState {
  if (status === 'returning') return 'processing';
  if (status === 'returned_to_sender') return 'completed';
  return failure === 'returned' ? 'returned' : 'failed';
}

const STILL_UNCONFIRMED = {
  unconfirmed: 'The rail still does not confirm this credit. Nothing was changed.',
  unreachable: 'The rail does not respond, so it is unknown whether it confirms this credit. Nothing was changed.',
};

const PROBLEMS: Record<DecisionProblem, string> = {
  sender_unknown:
    'The money has no single known sender account at a connected rail: credit it to a wallet, or move it to unclaimed.',
  wallet_unknown: 'The money was sent to no known wallet: name one as walletId.',
  payment_incomplete:
    'Its payment is open, and would not be settled with it: credit it after the payment has expired, or return it.',
};

/** How an attempt to return money failed, where the bank did not refuse it. */
const FAILURES: Partial<Record<FailureCode, ReturnFailure>> = {
  never_received: 'never_received',
  operator_decision: 'decided',
};

const readCase = async (sql: Sql, book: Book, id: string): Promise<ReviewCase> =>
  requireRow(await findReviewCase(sql, book, requireUuid('reviewCase', id)), `review case ${id}`);

/** The return of a case's money to the one account that it came from. */
export const returnAdapter = (sql: Sql): TransferAdapter<{ row: ReviewCase; sender: Sender }> => ({
  async read(book, transferId) {
    const row = await readCase(sql, book, transferId);
    const [sender, ...others] = await findSenders(sql, book, row);
    if (sender === undefined || others.length > 0)
      throw invariantViolation(`review case ${transferId} has no single known sender`);
    return { row: { row, sender }, rail: row.rail ?? sender.rail, state: transferStateOf(row) };
  },
  // The name on a credit is the sender's own: the rail enquires what the account is called.
  instruction: (book, { row, sender }) =>
    instructionOf(book, returnReference(row), { ...sender, amount: row.amount, accountName: null }, 'Returned payment'),
  async movement(book, { row }, change, _report, { code, reason, detail }) {
    // Money in suspense cannot be spent: the operator who decides about the case sees that it was paid.
    if (change === 'claw_back') return null;
    const payment = await findPaymentOfCase(sql, book, row);
    if (change === 'complete') return completeReturn(book, row, payment);
    const recalled = await findRecalledAway(sql, book, row);
    const failure = change === 'return' ? 'returned' : (FAILURES[code] ?? 'refused');
    const failureReason = detail ? `${reason}: ${detail}` : reason;
    return returnToSuspense(book, row, { failure, failureCode: code, failureReason }, { payment, recalled });
  },
});

export function createReviewCaseActivities(dependencies: ActivityDependencies): ReviewCaseActivities {
  const { sql, journal, rails } = dependencies;

  /** Whether the money goes back without a decision: its payment says so, and it was not tried yet. */
  async function returnsUnasked(book: Book, row: ReviewCase): Promise<boolean> {
    if (row.status !== 'open' || row.attempts > 0) return false;
    if (!choicesOf(row.reason).includes('return_to_sender')) return false;
    return (await findPaymentOfCase(sql, book, row))?.onMismatch === 'refund';
  }

  /** The rail's current status of the last attempt to return the money; null if there was none. */
  async function statusOfAttempt(book: Book, row: ReviewCase): Promise<AttemptStatus> {
    if (row.rail === null || row.attempts === 0) return null;
    const rail = await rails.named(book, row.rail);
    return rail === null ? 'unreachable' : (await queryRail(rail, book, returnReference(row))).status;
  }

  /** Queries the rail again about a credit that was set aside. Returns the movement, or the message of a refusal. */
  async function retryCredit(book: Book, row: ReviewCase): Promise<Movement | string> {
    if (row.inboundCreditId === null) throw invariantViolation(`review case ${row.id} has no inbound credit`);
    const credit = await readCredit(dependencies, book, publicId('inboundCredit', row.inboundCreditId));
    const found = await queryCredit(dependencies, book, credit);
    if (!('confirmed' in found)) return STILL_UNCONFIRMED[found.rail];
    return receiveAfterAll(book, row, found.confirmed, await flowOf(sql, book, found.confirmed));
  }

  /** The movement of a decision, or the message of its refusal. */
  async function movementOf(
    book: Book,
    row: ReviewCase,
    { action, walletId, waiveFee: waivesFee = false }: Pick<ReviewDecision, 'action' | 'walletId' | 'waiveFee'>,
  ): Promise<Movement | string> {
    const refusal = refuseAction(action, choicesOf(row.reason), limitOf(row.reason));
    if (refusal !== null) return refusal;
    if (action === 'close') return closeCase(book, row);
    if (action === 'retry') return await retryCredit(book, row);
    const attempt = decideAfterAttempt(await statusOfAttempt(book, row));
    if (attempt === 'paid' && action !== 'return_to_sender') {
      return (
        `The bank reports the last attempt, ${returnReference(row)}, as paid or in progress: ` +
        'return_to_sender follows it and sends nothing again.'
      );
    }
    const target = walletId === undefined ? row.walletId : parseId('wallet', walletId);
    if (walletId !== undefined && target === null) return `There is no wallet ${walletId}.`;
    const senders = action === 'return_to_sender' ? await findSenders(sql, book, row) : [];
    const attempts = row.attempts + (attempt === 'over' ? 1 : 0);
    const payment = await findPaymentOfCase(sql, book, row);
    const decision = { action, walletId: target, senders, attempts, payment, waivesFee };
    const movement = decisionMovement(book, row, decision);
    return typeof movement === 'string' ? PROBLEMS[movement] : movement;
  }

  const caseDecision = (
    input: ReviewCaseInput,
    row: ReviewCase,
    { code, action, walletId, ...sent }: ReviewDecision,
  ) => {
    const reason = sent.evidence === undefined ? sent.reason : `${sent.reason} (${sent.evidence})`;
    const about = `${versionText(row)}${sent.waiveFee === true ? ', without the fee' : ''}`;
    const decision = { code, wallet: walletId, about, reason };
    return decisionOf(decision, input.transferId, `review:${action}`);
  };

  const AFTER = {
    credit: 'credited',
    move_to_unclaimed: 'unclaimed',
    return_to_sender: 'returning',
    close: 'closed',
    retry: 'closed',
  } as const;

  return {
    async readReviewCase({ transferId, ...scope }: ReviewCaseInput): Promise<ReviewCaseSnapshot> {
      const book = bookOf(scope);
      const row = await readCase(sql, book, transferId);
      const found = row.reason === 'reconciliation_break' ? await findBreak(sql, book.organisationId, row.id) : null;
      return {
        status: row.status,
        reference: returnReference(row),
        attempts: row.attempts,
        failure: row.failure,
        fee: row.fee,
        ...(row.lateBySeconds !== null && { lateBySeconds: row.lateBySeconds }),
        transfer: row.transfer,
        break: found && {
          kind: found.kind,
          line: found.line,
          rail: found.rail,
          reference: found.reference,
          ledgerAmount: found.ledgerAmount,
          statementAmount: found.statementAmount,
          at: found.at.toISOString(),
          clearedAt: found.clearedAt?.toISOString() ?? null,
        },
        returnsUnasked: await returnsUnasked(book, row),
      };
    },

    async applyCaseDecision(input: ReviewCaseInput, sent: ReviewDecision | null): Promise<AppliedDecision> {
      const book = bookOf(input);
      return await retryOnConflict(journal, async ({ post }): Promise<AppliedDecision | null> => {
        const row = await readCase(sql, book, input.transferId);
        const chosen: Pick<ReviewDecision, 'action' | 'walletId' | 'waiveFee'> = sent ?? { action: 'return_to_sender' };
        const { action } = chosen;
        const isClaim = row.status === 'unclaimed' && action !== 'move_to_unclaimed';
        if (row.status !== 'open' && !isClaim)
          return { outcome: 'done', message: `The case is ${row.status}.`, status: row.status };
        const refused = (message: string) => ({ outcome: 'refused', message, status: row.status }) as const;
        if (sent === null && !(await returnsUnasked(book, row))) return refused('An operator must decide.');
        const movement = await movementOf(book, row, chosen);
        if (typeof movement === 'string') return refused(movement);
        const decision = sent === null ? null : caseDecision(input, row, sent);
        const result = await post(decision === null ? movement : { ...movement, decision });
        if (result.outcome === 'refused') {
          const { because, operator } = result.detail;
          if (result.code === 'DECISION_PROPOSED') {
            const message = 'A second operator must send the same decision to confirm it.';
            return { outcome: 'proposed', message, status: row.status, operator: String(operator) };
          }
          if (result.code === 'DECISION_REFUSED' && decision !== null)
            return { ...refused(refusalText({ because }, decision)), outcome: 'denied' };
          return refused(`The ledger refused it: ${result.code} (account: ${result.account ?? 'none'}).`);
        }
        if (result.outcome !== 'posted') return null;
        const status = AFTER[action];
        return { outcome: 'done', message: `The case is ${status}.`, status };
      });
    },
  };
}
