// What operators decide about money in suspense, posted; and the steps of sending it back.
import { parseId, publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { completeReturn, creditCase, holdReturn, keepCase, putBackReturn } from '../movements/reviewCases.ts';
import { findReviewCase, findSenders, type ReviewCase } from '../records/reviewCases.ts';
import type { TransferState } from '../workflows/bankTransfer/decide.ts';
import { bookOf } from '../workflows/flows.ts';
import type { ReviewAnswer, ReviewCaseInput, ReviewDecision } from '../workflows/reviewCase/messages.ts';
import { createAttentionActivities } from './attention.ts';
import { createBankTransferSteps, type TransferBook } from './bankTransfers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { impossible } from './failures.ts';
import { untilDecided } from './posting.ts';

export type ReviewCaseActivities = ReturnType<typeof createReviewCaseActivities>;

type Sender = Awaited<ReturnType<typeof findSenders>>[number];

/** How a case's status reads as a bank transfer's. An open one is one whose money came back, or never left. */
const TRANSFER_STATES: Record<ReviewCase['status'], TransferState> = {
  open: 'failed',
  sending: 'processing',
  sent_back: 'completed',
  credited: 'failed',
  kept: 'failed',
};

export function createReviewCaseActivities(dependencies: ActivityDependencies) {
  const { sql, journal } = dependencies;
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
      return { row: { row, sender }, rail: row.rail ?? sender.rail, state: TRANSFER_STATES[row.status] };
    },
    instruction: (book, { row, sender }) => ({
      organisationId: book.organisationId,
      reference: publicId('reviewCase', row.id),
      amount: row.amount,
      accountNumber: sender.accountNumber,
      bankCode: sender.bankCode,
      accountName: sender.accountName,
      narration: 'Returned payment',
    }),
    movement: (book, { row }, change, report) =>
      change === 'complete' ? completeReturn(book, row) : putBackReturn(book, row, report),
  };
  const { send, check, giveUp, decide } = createBankTransferSteps<{ row: ReviewCase; sender: Sender }, ReviewCaseInput>(
    dependencies,
    books,
  );

  /** The movement that a decision asks for, or the words of a refusal. */
  async function movementOf(book: Book, row: ReviewCase, { action, walletId }: ReviewDecision) {
    if (action === 'keep') return keepCase(book, row);
    if (action === 'send_back') {
      const sender = await findSender(book, row);
      if (sender === null)
        return 'It is not known which one account the money came from: credit it to a wallet, or keep it.';
      return holdReturn(book, row, sender.rail);
    }
    const target = walletId === undefined ? row.walletId : parseId('wallet', walletId);
    if (walletId !== undefined && target === null) return `There is no wallet ${walletId}.`;
    if (target === null) return 'The money came for no wallet that is known: name one as walletId.';
    return creditCase(book, row, target);
  }

  const AFTER = { credit: 'credited', keep: 'kept', send_back: 'sending' } as const;

  return {
    /** Where the case stands in the books. */
    async readReviewCase({ transferId, ...scope }: ReviewCaseInput): Promise<ReviewCase['status']> {
      return (await read(bookOf(scope), transferId)).status;
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
        const { action, operator, reason } = decision;
        await recordAct({
          organisationId,
          environment,
          subject: transferId,
          action: `review:${action}`,
          operator,
          reason,
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
