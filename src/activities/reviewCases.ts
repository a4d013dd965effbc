// What operators decide about review cases: money in suspense, posted, and the steps of sending it back; breaks, which are closed
// without a posting; and credits that the rail did not confirm, which are closed or taken in after all.
import { parseId, publicId, requireUuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { findBreak } from '../reconciliation/queries.ts';
import { startInboundCredit } from '../resources/inboundCredits/flow.ts';
import { findPayment } from '../resources/payments/queries.ts';
import {
  completeReturn,
  creditCase,
  holdReturn,
  keepCase,
  putBackReturn,
  receiveAfterAll,
  settleCase,
} from '../resources/reviewCases/movements.ts';
import {
  findReviewCase,
  findSenders,
  type ReturnFailure,
  type ReviewCase,
  returnReference,
} from '../resources/reviewCases/queries.ts';
import type { RailWord, TransferState } from '../workflows/bankTransfer/decide.ts';
import { bookOf } from '../workflows/flows.ts';
import { decideAfterAttempt, refuseAction } from '../workflows/reviewCase/decide.ts';
import type {
  ReviewAnswer,
  ReviewCaseActivities,
  ReviewCaseInput,
  ReviewCaseStanding,
  ReviewDecision,
} from '../workflows/reviewCase/messages.ts';
import { createAttentionActivities } from './attention.ts';
import { ask, createBankTransferSteps, railOf, type Source, type TransferBook } from './bankTransfers.ts';
import { askAboutCredit, readCredit } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { impossible } from './failures.ts';
import { untilDecided } from './posting.ts';

type Sender = Awaited<ReturnType<typeof findSenders>>[number];

/** How a case reads as a bank transfer: when it is not under way or done, its money never left, or came back. */
function transferStateOf({ status, failure }: ReviewCase): TransferState {
  if (status === 'sending') return 'processing';
  if (status === 'sent_back') return 'completed';
  return failure === 'returned' ? 'returned' : 'failed';
}

const STILL_NOT = {
  unconfirmed: 'The rail still does not confirm this credit. Nothing was changed.',
  unreachable: 'The rail does not answer, so it is not known whether it confirms this credit. Nothing was changed.',
};

/** How an attempt to send money back failed, by whose word it was. */
const FAILURES: Record<Source, ReturnFailure> = { rail: 'refused', silence: 'never_received', operators: 'decided' };

export function createReviewCaseActivities(dependencies: ActivityDependencies): ReviewCaseActivities {
  const { sql, journal, rails } = dependencies;
  const { recordAct } = createAttentionActivities(dependencies);

  async function read(book: Book, caseId: string): Promise<ReviewCase> {
    const row = await findReviewCase(sql, book, requireUuid('reviewCase', caseId));
    if (row === null) throw impossible(`review case ${caseId} is not in the database`);
    return row;
  }

  /** The one account that the money came from; null when there is none, or more than one. */
  async function findSender(book: Book, row: ReviewCase): Promise<Sender | null> {
    const senders = await findSenders(sql, book, row);
    return senders.length === 1 ? (senders[0] ?? null) : null;
  }

  const books: TransferBook<{ row: ReviewCase; sender: Sender }> = {
    async read(book, transferId) {
      const row = await read(book, transferId);
      const sender = await findSender(book, row);
      if (sender === null) throw impossible(`the sender of review case ${transferId} is not known`);
      const reference = returnReference(row);
      return { row: { row, sender }, rail: row.rail ?? sender.rail, state: transferStateOf(row), reference };
    },
    instruction: (book, { row, sender }) => ({
      organisationId: book.organisationId,
      reference: returnReference(row),
      amount: row.amount,
      accountNumber: sender.accountNumber,
      bankCode: sender.bankCode,
      accountName: sender.accountName,
      narration: 'Returned payment',
    }),
    movement: (book, { row }, change, report, source) =>
      change === 'complete'
        ? completeReturn(book, row)
        : putBackReturn(book, row, change === 'return' ? 'returned' : FAILURES[source], report),
  };
  const { send, check, giveUp, decide } = createBankTransferSteps<{ row: ReviewCase; sender: Sender }, ReviewCaseInput>(
    dependencies,
    books,
  );

  /** What the rail says now of the last attempt to send the money back; null when there was none. */
  async function wordOfAttempt(book: Book, row: ReviewCase): Promise<RailWord | 'unreachable' | null> {
    if (row.rail === null || row.attempts === 0) return null;
    return (await ask(railOf(rails, book, row.rail), book, returnReference(row))).word;
  }

  /** The rail is asked once more for a credit that was set aside. */
  async function takeInAfterAll(book: Book, row: ReviewCase): Promise<Movement | string> {
    if (row.inboundCreditId === null) throw impossible(`review case ${row.id} is about no credit`);
    const credit = await readCredit(dependencies, book, publicId('inboundCredit', row.inboundCreditId));
    const confirmation = await askAboutCredit(dependencies, book, credit);
    if (confirmation !== 'confirmed') return STILL_NOT[confirmation.rail];
    const payment =
      credit.ownerKind === 'payment' && credit.ownerId !== null ? await findPayment(sql, book, credit.ownerId) : null;
    return receiveAfterAll(book, row, credit, startInboundCredit(book, credit, payment));
  }

  /** The movement that a decision asks for, or the words of a refusal. */
  async function movementOf(
    book: Book,
    row: ReviewCase,
    { action, walletId }: ReviewDecision,
  ): Promise<Movement | string> {
    const refusal = refuseAction(row.reason, action);
    if (refusal !== null) return refusal;
    if (action === 'settled') return settleCase(book, row);
    if (action === 'retry') return await takeInAfterAll(book, row);
    const attempt = decideAfterAttempt(await wordOfAttempt(book, row));
    if (action === 'send_back') {
      const sender = await findSender(book, row);
      if (sender === null)
        return 'It is not known which one account the money came from: credit it to a wallet, or keep it.';
      return holdReturn(book, row, sender.rail, row.attempts + (attempt === 'over' ? 1 : 0));
    }
    if (attempt === 'paid') {
      return `The bank says that it paid the last attempt, ${returnReference(row)}, or is about to: send_back follows it, and sends nothing anew.`;
    }
    if (action === 'keep') return keepCase(book, row);
    const target = walletId === undefined ? row.walletId : parseId('wallet', walletId);
    if (walletId !== undefined && target === null) return `There is no wallet ${walletId}.`;
    if (target === null) return 'The money came for no wallet that is known: name one as walletId.';
    return creditCase(book, row, target);
  }

  const AFTER = {
    credit: 'credited',
    keep: 'kept',
    send_back: 'sending',
    settled: 'settled',
    retry: 'settled',
  } as const;

  return {
    /** Where the case stands in the books, and the break behind it if it is one. */
    async readReviewCase({ transferId, ...scope }: ReviewCaseInput): Promise<ReviewCaseStanding> {
      const book = bookOf(scope);
      const row = await read(book, transferId);
      const kept = row.reason === 'reconciliation_break' ? await findBreak(sql, book.organisationId, row.id) : null;
      return {
        status: row.status,
        reference: returnReference(row),
        attempts: row.attempts,
        failure: row.failure,
        break: kept && {
          kind: kept.kind,
          line: kept.line,
          rail: kept.rail,
          reference: kept.reference,
          ours: kept.ours,
          theirs: kept.theirs,
          at: kept.at.toISOString(),
          goneAt: kept.goneAt?.toISOString() ?? null,
        },
      };
    },

    /** Posts an operator's decision and audits it; or says why it cannot be, and the case stays open. */
    async applyDecision(input: ReviewCaseInput, decision: ReviewDecision): Promise<ReviewAnswer> {
      const book = bookOf(input);
      const answer = await untilDecided(journal, async ({ mayPost }): Promise<ReviewAnswer | null> => {
        const row = await read(book, input.transferId);
        if (row.status !== 'open')
          return { outcome: 'done', message: `The case is ${row.status}.`, status: row.status };
        const movement = await movementOf(book, row, decision);
        if (typeof movement === 'string') return { outcome: 'refused', message: movement, status: row.status };
        const result = await mayPost(movement);
        if (result.outcome === 'refused') {
          const message = `The books refuse it: ${result.code}, at ${result.account ?? 'no account'}.`;
          return { outcome: 'refused', message, status: row.status };
        }
        if (result.outcome !== 'posted') return null;
        const status = AFTER[decision.action];
        return { outcome: 'done', message: `The case is ${status}.`, status };
      });
      if (answer.outcome === 'done') {
        const { organisationId, environment, transferId } = input;
        const { action, operator, reason, evidence } = decision;
        await recordAct({
          organisationId,
          environment,
          subject: transferId,
          action: `review:${action}`,
          operator,
          reason: evidence === undefined ? reason : `${reason} (${evidence})`,
        });
      }
      return answer;
    },

    sendReturn: send,
    checkReturn: check,
    giveUpReturn: giveUp,
    decideReturn: decide,
  };
}
