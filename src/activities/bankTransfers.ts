// The steps of a bank transfer, shared by withdrawals, refunds to a bank, payout items and returns to the sender. What
// differs between them, the rows and postings, is given by a `TransferAdapter`.
import { AttemptOverError, requireTimeLeft } from '../concurrency/attempt.ts';
import { KeyedMutex } from '../concurrency/keyedMutex.ts';
import { msOfRail } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { timeOfId, type Uuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import { listShortfalls } from '../ledger/safeguarding.ts';
import type { Book } from '../money.ts';
import { emptyReport, isAbout } from '../rail/adapterCalls.ts';
import { isNotAccepted, RailNotReadyError, RailRefusedError, RailUnavailableError } from '../rail/errors.ts';
import type { BankRail, TransferInstruction, TransferReport } from '../rail/port.ts';
import { type DecidedBy, failureOf, type TransferFailure } from '../resources/failureCodes.ts';
import { decisionOf, recordDecision } from '../resources/operators.ts';
import { isRailPaused } from '../resources/rails/pauses.ts';
import { saveProviderMessage } from '../resources/rails/providerMessages.ts';
import {
  readSends,
  recordKnown,
  recordNotSent,
  recordRefusal,
  recordSend,
  restartSends,
  type TransferSends,
} from '../resources/transferSends.ts';
import {
  decideTransfer,
  decideUnknown,
  type RailStatus,
  type Sends,
  type TransferDecision,
  type TransferLimits,
  type TransferState,
} from '../workflows/bankTransfer/decide.ts';
import type {
  BankTransferActivities,
  BankTransferInput,
  NotReady,
  OperatorDecision,
  TransferProgress,
} from '../workflows/bankTransfer/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';
import { retryOnConflict } from './posting.ts';

/** A change that moves money. */
export type TransferChange = Extract<TransferDecision, 'complete' | 'fail' | 'return' | 'claw_back'>;

/** The rows and postings of one kind of bank transfer. */
export interface TransferAdapter<Row> {
  /** Reads its row, with the rail that it is sent through and its state. Throws if there is no such row. */
  read: (book: Book, transferId: string) => Promise<{ row: Row; rail: string; state: TransferState }>;
  /** The instruction to the rail. Its reference never changes. */
  instruction: (book: Book, row: Row) => TransferInstruction;
  /** The movement that posts a final status. `failure`: of `fail` and `return`. Null: none, an operator must decide. */
  movement: (
    book: Book,
    row: Row,
    change: TransferChange,
    report: TransferReport,
    failure: TransferFailure,
  ) => Promise<Movement | null> | Movement | null;
  /** The row that movements of other transfers change too, if there is one: they are posted one at a time. */
  sharedRow?: (row: Row) => Uuid;
}

/** The instruction to the rail: a transfer to the bank account of a row. */
export const instructionOf = (
  { organisationId }: Book,
  reference: string,
  row: Pick<TransferInstruction, 'amount' | 'accountNumber' | 'bankCode' | 'accountName'>,
  narration: string | null,
): TransferInstruction => {
  const { amount, accountNumber, bankCode, accountName } = row;
  return { organisationId, reference, amount, accountNumber, bankCode, accountName, narration };
};

const STATE_AFTER: Record<TransferChange, TransferState> = {
  complete: 'completed',
  fail: 'failed',
  return: 'returned',
  claw_back: 'completed',
};

/** Failure reason when the rail received none of the sends. */
const NEVER_RECEIVED = 'The bank never received the transfer';

/** An optimisation: twenty refunds of one payment that end together would fail the version check hundreds of times. */
const postingMutex = new KeyedMutex();

interface Answer {
  /** `differs`: the rail has another transfer under this reference. */
  status: RailStatus | 'unreachable' | 'not_ready' | 'differs';
  report: TransferReport;
  decidedBy: DecidedBy;
  /** With `not_ready`. */
  notReady?: NotReady;
  /** With `unreachable`: the rail reports that the reference exists. */
  knowsReference?: boolean;
  /** The rail's message instead of a status. */
  providerMessage?: string | null;
  /** After a send: what the database has of the sends now. */
  sends?: Sends;
}

/** What a step decides by. */
interface StepContext {
  book: Book;
  rail: BankRail;
  instruction: TransferInstruction;
  limits: TransferLimits;
  /** The rail's status. */
  answer: Answer;
  /** What the database had of its sends before that. */
  sends: TransferSends;
}

const answerOfRail = (status: Answer['status'], report: TransferReport): Answer => ({
  status,
  report,
  decidedBy: 'rail',
});

/** The rail that a row names. It was configured when the row was written. */
export async function railOf(rails: ActivityDependencies['rails'], book: Book, name: string): Promise<BankRail> {
  const rail = await rails.named(book, name);
  if (rail === null) throw invariantViolation(`the rail ${name} is not configured`);
  return rail;
}

/** `known`: what the database has of its sends; default: that it was sent. */
export async function queryRail(
  rail: BankRail,
  { organisationId }: Book,
  reference: string,
  known: Omit<Parameters<BankRail['transferStatus']>[0], 'organisationId' | 'reference'> = {
    since: timeOfId(reference),
  },
): Promise<Answer> {
  try {
    const report = await rail.transferStatus({ organisationId, reference, ...known });
    return report === null
      ? answerOfRail('unknown', emptyReport(reference, 'processing'))
      : answerOfRail(report.status, report);
  } catch (error) {
    return answerOfError(error, reference);
  }
}

/** What an error of the rail means for the status of a transfer. Throws any other error. */
function answerOfError(error: unknown, reference: string): Answer {
  const report = emptyReport(reference, 'processing');
  if (error instanceof RailUnavailableError) {
    const { providerMessage, knowsReference } = error;
    return { ...answerOfRail('unreachable', report), providerMessage, ...(knowsReference && { knowsReference }) };
  }
  if (!(error instanceof RailNotReadyError)) throw error;
  return { ...answerOfRail('not_ready', report), notReady: notReadyOf(error), providerMessage: error.providerMessage };
}

export const notReadyOf = ({ why, retryAfterMs }: RailNotReadyError): NotReady => ({ why, retryAfterMs });

/** The shortfall of a book without enough money at its bank, if it has one. */
async function shortfallOf(sql: Sql, book: Book, { why }: NotReady): Promise<Pick<NotReady, 'shortfall'>> {
  const [short] = why === 'underfunded' ? await listShortfalls(sql, book) : [];
  return short === undefined ? {} : { shortfall: short.amount };
}

/** Keeps the rail's message, if there is one, for operators. */
export async function keepProviderMessage(sql: Sql, book: Book, transferId: string, message: string | null) {
  if (message) await saveProviderMessage(sql, book, transferId, message);
}

/** Sends it, and records the send before and after. A refusal is not believed yet: the rail may lag. */
async function sendToRail(sql: Sql, { book, rail, instruction, sends: before }: StepContext): Promise<Answer> {
  const { reference } = instruction;
  requireTimeLeft(rail.capabilities.calls.limitMs);
  await recordSend(sql, book, reference);
  const sends: Sends = { count: before.count + 1, sinceMs: 0, isKnown: before.isKnown, isRefused: false };
  try {
    const report = await rail.sendTransfer(instruction);
    return { ...answerOfRail(report.status, report), sends };
  } catch (error) {
    if (error instanceof RailRefusedError) {
      await recordRefusal(sql, book, reference, error.message);
      const { message: providerMessage } = error;
      const answer = answerOfRail('unknown', emptyReport(reference, 'processing'));
      return { ...answer, providerMessage, sends: { ...sends, isRefused: true } };
    }
    if (!isNotAccepted(error) && !(error instanceof AttemptOverError))
      return { ...answerOfError(error, reference), sends };
    await recordNotSent(sql, book, reference);
    return answerOfError(error, reference);
  }
}

/** The settings that the flow of a transfer through this rail needs. */
export const transferLimits = (
  { attention }: Pick<ActivityDependencies['config'], 'attention'>,
  { name, capabilities }: BankRail,
): TransferLimits => {
  const { notVisibleForMs, unknownIsFinal } = capabilities.transfers;
  const { outcomeUnknown, ...limits } = attention;
  return { ...limits, outcomeUnknownMs: msOfRail(outcomeUnknown, name), notVisibleForMs, unknownIsFinal };
};

export function createBankTransferSteps<Row>(
  { sql, rails, journal, log, config }: ActivityDependencies,
  adapter: TransferAdapter<Row>,
): BankTransferActivities {
  /**
   * Queries the rail, runs `act` on its answer, and posts the resulting status. A paused rail is queried too; if its
   * status is one of `deferred`, nothing is done until it is resumed. `decided`: what operators decided.
   */
  async function advance(
    input: BankTransferInput,
    act: (step: StepContext) => Promise<Answer> | Answer,
    { deferred, decided }: { deferred: readonly Answer['status'][]; decided?: OperatorDecision },
  ): Promise<TransferProgress> {
    const book = bookOf(input);
    const audited = (movement: Movement): Movement =>
      decided === undefined
        ? movement
        : { ...movement, decision: decisionOf(decided.sent, input.transferId, `resolve:${decided.outcome}`) };
    return await retryOnConflict(journal, async ({ post, postOrPark, postAsRead, postBack }) => {
      const { row, rail: railName, state } = await adapter.read(book, input.transferId);
      const rail = await railOf(rails, book, railName);
      const instruction = adapter.instruction(book, row);
      const { reference } = instruction;
      const compared = (answer: Answer): Answer =>
        isAbout(answer.report, instruction) ? answer : { ...answer, status: 'differs' };
      // Before the query: a reference must be unknown at the end of a time, not before it.
      const sends = await readSends(sql, book, reference);
      const limits = transferLimits(config, rail);
      const mayEnd = state !== 'processing' || ['refused', 'never_received'].includes(decideUnknown(sends, limits));
      const wasSent = sends.count > 0 || sends.isKnown;
      const since = wasSent ? timeOfId(reference) : undefined;
      const lastSentAt = wasSent ? new Date(Date.now() - sends.sinceMs) : timeOfId(reference);
      const answer = compared(await queryRail(rail, book, reference, { since, lastSentAt, mayEnd }));
      if (deferred.includes(answer.status) && (await isRailPaused(sql, book.environment))) {
        return { status: state, rail: 'paused', limits };
      }
      /** Nothing moves: a decision without an effect is audited all the same. */
      const unchanged = async (
        known: TransferProgress['rail'],
        more: Pick<TransferProgress, 'notReady' | 'sends'> = {},
      ): Promise<TransferProgress> => {
        if (decided !== undefined) await post(audited({ book }));
        return { status: state, rail: known, ...more, limits };
      };
      const actsOn: TransferState = decided?.outcome === 'return' ? 'completed' : 'processing';
      // The transfer has ended, or an earlier attempt posted the decision and its response was lost (then the audit log
      // has it twice): the rail's status no longer matters.
      if (decided !== undefined && state !== actsOn) return await unchanged('known');
      const acted = compared(state === actsOn ? await act({ book, rail, instruction, limits, answer, sends }) : answer);
      const { status, report, decidedBy, notReady, knowsReference, providerMessage } = acted;
      const isKnown = sends.isKnown || status === 'processing' || knowsReference === true;
      if (isKnown && !sends.isKnown) await recordKnown(sql, book, reference);
      // Not in the result: a history has only ids, amounts and codes.
      await keepProviderMessage(
        sql,
        book,
        input.transferId,
        providerMessage ?? (status === 'processing' ? report.reason : null),
      );
      if (status === 'differs') {
        log.error({ reference, state }, 'the rail has another transfer under this reference');
        return await unchanged('contradiction');
      }
      const { count, sinceMs, isRefused } = acted.sends ?? sends;
      const sent = { sends: { count, sinceMs, isKnown, isRefused } };
      if (status === 'unreachable') return await unchanged('unreachable', sent);
      if (status === 'not_ready') {
        const explained = notReady && { notReady: { ...notReady, ...(await shortfallOf(sql, book, notReady)) } };
        return await unchanged('not_ready', { ...sent, ...explained });
      }
      const decision = decideTransfer(state, status);
      const known = status === 'unknown' ? 'unknown' : 'known';
      if (decision === 'none') return await unchanged(known, sent);
      if (decision === 'contradiction' || decision === 'claw_back') {
        log.error({ reference, state, status }, 'the rail contradicts its earlier report');
      }
      const posted =
        decision === 'contradiction'
          ? 'impossible'
          : await postingMutex.run(adapter.sharedRow?.(row) ?? input.transferId, async () => {
              const failure = failureOf(decision === 'return' ? decision : 'fail', report, decidedBy, rail.failures);
              const movement = await adapter.movement(book, row, decision, report, failure);
              if (movement === null) return 'impossible';
              const posters = { complete: postOrPark, claw_back: postAsRead, fail: postBack, return: postBack };
              const isPosted = await posters[decision](audited(movement));
              return isPosted ? STATE_AFTER[decision] : null;
            });
      if (posted === 'impossible') return await unchanged('contradiction');
      if (posted !== null && (decidedBy === 'silence' || isRefused)) await restartSends(sql, book, reference);
      return posted === null ? null : { status: posted, rail: known, limits };
    });
  }

  /** Queries the rail and posts what follows from its status. */
  const check = (input: BankTransferInput): Promise<TransferProgress> =>
    advance(input, ({ answer }) => answer, { deferred: ['unreachable', 'not_ready'] });

  return {
    sendBankTransfer: (input, isAsked = false) =>
      advance(
        input,
        async (step) => {
          const { answer, sends, limits } = step;
          const isUnsent = sends.count === 0 && !sends.isKnown;
          const isUnanswered = answer.status === 'unreachable' && answer.knowsReference !== true;
          const maySend = answer.status === 'unknown' || (isAsked && isUnsent && isUnanswered);
          return maySend && decideUnknown(sends, limits) === 'send' ? await sendToRail(sql, step) : answer;
        },
        { deferred: ['unknown', 'unreachable', 'not_ready'] },
      ),

    checkBankTransfer: check,

    /** With proof in the database. A final status that the rail has by now takes precedence. */
    applyBankTransferDecision: async (input, decided) => {
      const action = `resolve:${decided.outcome}`;
      const asked = await recordDecision(sql, bookOf(input), { ...decided.sent, subject: input.transferId, action });
      if (asked.outcome !== 'accepted') {
        log.warn({ transferId: input.transferId, action, ...asked }, 'a decision without proof was not carried out');
        return await check(input);
      }
      return await advance(
        input,
        ({ answer }) => {
          const isFinal = answer.status === 'completed' || answer.status === 'returned' || answer.status === 'failed';
          if (isFinal && !(decided.outcome === 'return' && answer.status === 'failed')) return answer;
          const status = STATE_AFTER[decided.outcome];
          const report = emptyReport(answer.report.reference, status, decided.reason);
          return { status, report, decidedBy: 'operators' };
        },
        { deferred: [], decided },
      );
    },

    /** Posts the transfer as refused or never received, if the sends that the database has allow it. */
    markBankTransferUnsent: (input) =>
      advance(
        input,
        ({ instruction: { reference }, answer, sends, limits }) => {
          if (answer.status !== 'unknown') return answer;
          const decision = decideUnknown(sends, limits);
          if (decision !== 'refused' && decision !== 'never_received') return answer;
          const isRefused = decision === 'refused';
          const report = emptyReport(reference, 'failed', isRefused ? (sends.refusal ?? undefined) : NEVER_RECEIVED);
          return { status: 'failed', report, decidedBy: isRefused ? 'rail' : 'silence' };
        },
        { deferred: ['unreachable', 'not_ready'] },
      ),
  };
}
