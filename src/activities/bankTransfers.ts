// The steps of a bank transfer, shared by withdrawals, refunds to a bank, payout items and returns to the sender. What
// differs between them, the rows and postings, is given by a `TransferAdapter`.
import { activityInfo } from '@temporalio/activity';
import { KeyedMutex } from '../concurrency/keyedMutex.ts';
import type { Uuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { isRailPaused } from '../rail/pauses.ts';
import {
  type BankRail,
  RailRefusedError,
  RailUnavailableError,
  type TransferInstruction,
  type TransferReport,
} from '../rail/port.ts';
import { withAudit } from '../resources/operators.ts';
import {
  decideTransfer,
  type RailStatus,
  type TransferDecision,
  type TransferState,
} from '../workflows/bankTransfer/decide.ts';
import type {
  BankTransferInput,
  OperatorDecision,
  PauseMode,
  TransferLimits,
  TransferProgress,
} from '../workflows/bankTransfer/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation, railPaused } from './failures.ts';
import { retryOnConflict } from './posting.ts';

/** A change that moves money. */
export type TransferChange = Extract<TransferDecision, 'complete' | 'fail' | 'return' | 'claw_back'>;

/** The rows and postings of one kind of bank transfer. */
export interface TransferAdapter<Row> {
  /**
   * Reads its row, with the rail that it is sent through, its state, and its reference at the rail if that is not its
   * public id. Throws if there is no such row.
   */
  read: (
    book: Book,
    transferId: string,
  ) => Promise<{ row: Row; rail: string; state: TransferState; reference?: string }>;
  /** The instruction to the rail. Its reference never changes. */
  instruction: (book: Book, row: Row) => TransferInstruction;
  /** The movement that posts a final status. Null: none, an operator must decide. */
  movement: (
    book: Book,
    row: Row,
    change: TransferChange,
    report: TransferReport,
    source: DecidedBy,
  ) => Promise<Movement | null> | Movement | null;
  /** The row that movements of other transfers change too, if there is one: they are posted one at a time. */
  sharedRow?: (row: Row) => Uuid;
}

/** Who decided the status: the rail, our rule for a transfer that the rail never received, or operators. */
export type DecidedBy = 'rail' | 'silence' | 'operators';

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
  status: RailStatus | 'unreachable';
  report: TransferReport;
  decidedBy: DecidedBy;
}

const answerOfRail = (status: Answer['status'], report: TransferReport): Answer => ({
  status,
  report,
  decidedBy: 'rail',
});

/** The rail that a row names. It was configured when the row was written. */
export function railOf(rails: ActivityDependencies['rails'], { environment }: Book, name: string): BankRail {
  const rail = rails.named(environment, name);
  if (rail === null) throw invariantViolation(`the rail ${name} is not configured`);
  return rail;
}

/** The rail's current status of the transfer with this reference. */
export async function queryRail(rail: BankRail, { organisationId }: Book, reference: string): Promise<Answer> {
  try {
    const report = await rail.transferStatus({ organisationId, reference });
    return report === null
      ? answerOfRail('unknown', emptyReport(reference, 'processing'))
      : answerOfRail(report.status, report);
  } catch (error) {
    if (error instanceof RailUnavailableError) return answerOfRail('unreachable', emptyReport(reference, 'processing'));
    throw error;
  }
}

async function sendToRail(rail: BankRail, instruction: TransferInstruction): Promise<Answer> {
  const { reference } = instruction;
  try {
    const report = await rail.sendTransfer(instruction);
    return answerOfRail(report.status, report);
  } catch (error) {
    if (error instanceof RailUnavailableError) return answerOfRail('unreachable', emptyReport(reference, 'processing'));
    if (error instanceof RailRefusedError)
      return answerOfRail('failed', emptyReport(reference, 'failed', error.message));
    throw error;
  }
}

/** Delay until a paused rail is checked again; grows up to the maximum, which is the longest wait after a resume. */
const PAUSED_LOOK_MS = 2_000;
const PAUSED_LOOK_MAX_MS = 45_000;

/** The result of a step while the rail is paused. With `wait` it throws, and is retried until the rail is resumed. */
export function pausedProgress(
  status: TransferState,
  limits: TransferLimits,
  pauseMode: PauseMode | undefined,
): TransferProgress {
  if (pauseMode === 'wait') throw railPaused(Math.min(PAUSED_LOOK_MAX_MS, PAUSED_LOOK_MS * activityInfo().attempt));
  return { status, rail: 'paused', limits };
}

export function createBankTransferSteps<Row, Input extends BankTransferInput>(
  { sql, rails, journal, log, config: { attention } }: ActivityDependencies,
  adapter: TransferAdapter<Row>,
) {
  /**
   * Queries the rail, runs `act` on its answer, and posts the resulting status. A paused rail is queried too; if its
   * status is one of `deferred`, nothing is done until it is resumed. `decided`: what operators decided.
   */
  async function advance(
    input: Input,
    act: (rail: BankRail, book: Book, row: Row, answer: Answer) => Promise<Answer> | Answer,
    {
      deferred,
      pauseMode,
      decided,
    }: { deferred: readonly Answer['status'][]; pauseMode?: PauseMode | undefined; decided?: OperatorDecision },
  ): Promise<TransferProgress> {
    const book = bookOf(input);
    const audited = (movement: Movement) => withAudit(movement, input.transferId, decided?.audit ?? []);
    return await retryOnConflict(journal, async ({ post, postOrPark, postAsRead }) => {
      const { row, rail: railName, state, reference = input.transferId } = await adapter.read(book, input.transferId);
      const rail = railOf(rails, book, railName);
      const answer = await queryRail(rail, book, reference);
      const limits = { ...attention, unknownIsFinalAfterMs: rail.unknownIsFinalAfterMs };
      if (deferred.includes(answer.status) && (await isRailPaused(sql, book.environment))) {
        return pausedProgress(state, limits, pauseMode);
      }
      /** Nothing moves: a decision without an effect is audited all the same. */
      const unchanged = async (known: TransferProgress['rail']): Promise<TransferProgress> => {
        if (decided !== undefined) await post(audited({ book }));
        return { status: state, rail: known, limits };
      };
      const actsOn: TransferState = decided?.outcome === 'return' ? 'completed' : 'processing';
      // The transfer has ended, or an earlier attempt posted the decision and its response was lost (then the audit log
      // has it twice): the rail's status no longer matters.
      if (decided !== undefined && state !== actsOn) return await unchanged('known');
      const { status, report, decidedBy } = state === actsOn ? await act(rail, book, row, answer) : answer;
      if (status === 'unreachable') return { status: state, rail: 'unreachable', limits };
      const decision = decideTransfer(state, status);
      const known = status === 'unknown' ? 'unknown' : 'known';
      if (decision === 'none') return await unchanged(known);
      if (decision === 'contradiction' || decision === 'claw_back') {
        log.error({ reference, state, status }, 'the rail contradicts its earlier report');
      }
      const posted =
        decision === 'contradiction'
          ? 'impossible'
          : await postingMutex.run(adapter.sharedRow?.(row) ?? input.transferId, async () => {
              const movement = await adapter.movement(book, row, decision, report, decidedBy);
              if (movement === null) return 'impossible';
              const isPosted = await (decision === 'claw_back' ? postAsRead : postOrPark)(audited(movement));
              return isPosted ? STATE_AFTER[decision] : null;
            });
      if (posted === 'impossible') return await unchanged('contradiction');
      return posted === null ? null : { status: posted, rail: known, limits };
    });
  }

  return {
    /** Sends the instruction, unless the rail knows its reference already. Every send has the same reference. */
    send: (input: Input, pauseMode?: PauseMode) =>
      advance(
        input,
        (rail, book, row, answer) =>
          answer.status === 'unknown' ? sendToRail(rail, adapter.instruction(book, row)) : answer,
        { deferred: ['unknown', 'unreachable'], pauseMode },
      ),

    /** Queries the rail and posts what follows from its status. */
    check: (input: Input, pauseMode?: PauseMode) =>
      advance(input, (_rail, _book, _row, answer) => answer, { deferred: ['unreachable'], pauseMode }),

    /**
     * Posts what operators decided. A final status that the rail has reported by now takes precedence; a return is
     * decided against its status `failed`.
     */
    decide: (input: Input, decided: OperatorDecision) =>
      advance(
        input,
        (_rail, _book, _row, answer) => {
          const isFinal = answer.status === 'completed' || answer.status === 'returned' || answer.status === 'failed';
          if (isFinal && !(decided.outcome === 'return' && answer.status === 'failed')) return answer;
          const status = STATE_AFTER[decided.outcome];
          const report = emptyReport(answer.report.reference, status, decided.reason);
          return { status, report, decidedBy: 'operators' };
        },
        { deferred: [], decided },
      ),

    /** Posts the transfer as never received, unless the rail knows it after all. */
    markUnsent: (input: Input, pauseMode?: PauseMode) =>
      advance(
        input,
        (_rail, _book, _row, answer) =>
          answer.status === 'unknown'
            ? {
                status: 'failed',
                report: emptyReport(answer.report.reference, 'failed', NEVER_RECEIVED),
                decidedBy: 'silence',
              }
            : answer,
        { deferred: ['unreachable'], pauseMode },
      ),
  };
}

function emptyReport(reference: string, status: TransferReport['status'], reason?: string): TransferReport {
  return { reference, status, sessionId: null, reason: reason ?? null };
}
