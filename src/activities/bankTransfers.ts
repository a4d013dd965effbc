// The steps of a bank transfer, the same for withdrawals, refunds to a bank and payout items. What differs, how each
// stands in the books, is given by a `TransferBook`.
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
export type TransferChange = Extract<TransferDecision, 'complete' | 'fail' | 'return'>;

/** How one kind of bank transfer stands in the books. */
export interface TransferAdapter<Row> {
  /**
   * Its row, with the rail it was given to, its state, and what the rail knows it by where that is not its public id.
   * Throws when there is none.
   */
  read: (
    book: Book,
    transferId: string,
  ) => Promise<{ row: Row; rail: string; state: TransferState; reference?: string }>;
  /** What the rail is told; the reference never changes. */
  instruction: (book: Book, row: Row) => TransferInstruction;
  /** Everything that becomes true when the rail's word is final. */
  movement: (
    book: Book,
    row: Row,
    change: TransferChange,
    report: TransferReport,
    source: DecidedBy,
  ) => Promise<Movement> | Movement;
  /** The row that other transfers' movements change too, where there is one: theirs are posted one after another. */
  sharedRow?: (row: Row) => Uuid;
}

/** Whose word it is: the rail’s own, our conclusion from its never having received anything, or operators’. */
export type DecidedBy = 'rail' | 'silence' | 'operators';

const STATE_AFTER: Record<TransferChange, TransferState> = {
  complete: 'completed',
  fail: 'failed',
  return: 'returned',
};

/** What is recorded when the rail never got any of the sends. */
const NEVER_RECEIVED = 'The bank never received the transfer';

/** A score of refunds of one payment that end at once would overtake each other hundreds of times. */
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

/** What the rail says now of the transfer with this reference. */
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

/** A paused rail is looked at again after this, ever more slowly up to the maximum: so long a flow waits after a resume. */
const PAUSED_LOOK_MS = 2_000;
const PAUSED_LOOK_MAX_MS = 45_000;

/** What a step answers while the rail is paused. A patient one throws: it is repeated until the rail is resumed. */
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
  books: TransferAdapter<Row>,
) {
  /**
   * Asks the rail, does `act` about its answer, and posts what came of it. A rail that is paused is asked all the same;
   * where its answer is one of `held`, nothing is done about it until it is resumed.
   */
  async function advance(
    input: Input,
    act: (rail: BankRail, book: Book, row: Row, answer: Answer) => Promise<Answer> | Answer,
    {
      held,
      pauseMode,
      isDecision = false,
    }: { held: readonly Answer['status'][]; pauseMode?: PauseMode | undefined; isDecision?: boolean },
  ): Promise<TransferProgress> {
    const book = bookOf(input);
    return await retryOnConflict(journal, async ({ postOrPark }) => {
      const { row, rail: railName, state, reference = input.transferId } = await books.read(book, input.transferId);
      const rail = railOf(rails, book, railName);
      const asked = await queryRail(rail, book, reference);
      const limits = { ...attention, unknownIsFinalAfterMs: rail.unknownIsFinalAfterMs };
      if (held.includes(asked.status) && (await isRailPaused(sql, book.environment))) {
        return pausedProgress(state, limits, pauseMode);
      }
      // An earlier attempt decided it, and its answer was lost: whether the rail answers now has no say in that.
      if (isDecision && state !== 'processing') return { status: state, rail: 'known', limits };
      const { status, report, decidedBy } = state === 'processing' ? await act(rail, book, row, asked) : asked;
      if (status === 'unreachable') return { status: state, rail: 'unreachable', limits };
      const decision = decideTransfer(state, status);
      if (decision === 'contradiction') {
        log.error({ reference, state, status }, 'the rail contradicts its earlier word');
        return { status: state, rail: 'contradiction', limits };
      }
      const known = status === 'unknown' ? 'unknown' : 'known';
      if (decision === 'none') return { status: state, rail: known, limits };
      const posted = await postingMutex.run(
        books.sharedRow?.(row) ?? input.transferId,
        async () => await postOrPark(await books.movement(book, row, decision, report, decidedBy)),
      );
      return posted ? { status: STATE_AFTER[decision], rail: known, limits } : null;
    });
  }

  return {
    /** Gives the rail the instruction, unless the rail knows it already: the same reference, however often. */
    send: (input: Input, pauseMode?: PauseMode) =>
      advance(
        input,
        (rail, book, row, answer) =>
          answer.status === 'unknown' ? sendToRail(rail, books.instruction(book, row)) : answer,
        { held: ['unknown', 'unreachable'], pauseMode },
      ),

    /** Asks the rail and posts what its answer means. */
    check: (input: Input, pauseMode?: PauseMode) =>
      advance(input, (_rail, _book, _row, answer) => answer, { held: ['unreachable'], pauseMode }),

    /** Posts what operators decided; the rail's own word, if it has one by now, goes before theirs. */
    decide: (input: Input, { outcome, reason }: OperatorDecision) =>
      advance(
        input,
        (_rail, _book, _row, answer) => {
          if (answer.status === 'completed' || answer.status === 'failed' || answer.status === 'returned')
            return answer;
          const status = outcome === 'complete' ? 'completed' : 'failed';
          return { status, report: emptyReport(answer.report.reference, status, reason), decidedBy: 'operators' };
        },
        { held: [], isDecision: true },
      ),

    /** Posts that the transfer was never made, unless the rail knows it after all. */
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
        { held: ['unreachable'], pauseMode },
      ),
  };
}

function emptyReport(reference: string, status: TransferReport['status'], reason?: string): TransferReport {
  return { reference, status, sessionId: null, reason: reason ?? null };
}
