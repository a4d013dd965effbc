// `reviews …`: money in suspense, reconciliation breaks and credits that the rail did not confirm; list the cases, read one, and
// decide it.
import { type Command, Option } from 'commander';
import { parseId, publicId } from '../ids.ts';
import type { Environment } from '../money.ts';
import { findBreak, type StoredBreak } from '../reconciliation/queries.ts';
import { findInboundCredit } from '../resources/inboundCredits/queries.ts';
import {
  findCaseOf,
  listReviewCases,
  REVIEW_REASONS,
  type ReviewCase,
  type ReviewReason,
  returnReference,
} from '../resources/reviewCases/queries.ts';
import { attentionOf } from '../workflows/reviewCase/decide.ts';
import type { ReviewAction, ReviewAnswer, ReviewDecision } from '../workflows/reviewCase/messages.ts';
import { addCommand, OPERATOR_OPTION, operatorName, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { chooseOrganisation } from './organisations.ts';
import { printJson, printLeftOut, printLine, printTable, timeText } from './print.ts';
import { isNoFlow, refusalOf, withTemporal } from './temporal.ts';

/** More than a person reads; the rest comes when these are done. */
const CASES_MAX = 500;
const STATUSES: readonly string[] = ['open', 'returning', 'credited', 'returned_to_sender', 'unclaimed', 'closed'];

const ORGANISATION_OPTION = [
  '--organisation <id>',
  'whose cases (default: the quick start’s organisation, or the only one)',
] as const;

export function addReviewCommands(program: Command): void {
  const group = program
    .command('reviews')
    .description('money in suspense, reconciliation breaks and unconfirmed credits that wait for a person');
  addList(group);
  addShow(group);
  addResolve(group);
}

type Case = ReviewCase & { environment: Environment };

const caseView = (row: Case) => ({
  id: publicId('reviewCase', row.id),
  flow: 'reviewCase',
  attention: row.status === 'open' ? attentionOf(row.reason) : null,
  reason: row.reason,
  status: row.status,
  environment: row.environment,
  amount: row.amount,
  account: row.accountCode,
  paymentId: row.paymentId === null ? null : publicId('payment', row.paymentId),
  walletId: row.walletId === null ? null : publicId('wallet', row.walletId),
  inboundCreditId: row.inboundCreditId === null ? null : publicId('inboundCredit', row.inboundCreditId),
  /** What the rail knows the last attempt to send it back by, and how that failed, if it did. */
  reference: row.attempts === 0 ? null : returnReference(row),
  attempts: row.attempts,
  failure: row.failure,
  failureReason: row.failureReason,
  since: row.createdAt,
  resolvedAt: row.resolvedAt,
});

const breakView = ({ kind, line, rail, reference, ledgerAmount, statementAmount, at, clearedAt }: StoredBreak) => ({
  kind,
  line,
  rail,
  reference,
  ledgerAmount,
  statementAmount,
  at,
  clearedAt,
});

interface ListOptions {
  status?: ReviewCase['status'];
  reason?: ReviewReason;
  environment?: Environment;
  organisation?: string;
  json?: true;
}

function addList(group: Command): void {
  addCommand(
    group,
    'list',
    'list the cases that are not resolved, the oldest first',
    'reviews list --reason reconciliation_break',
  )
    .option('--status <status>', `only these: ${STATUSES.join(', ')}`)
    .addOption(new Option('--reason <reason>', 'only these').choices(REVIEW_REASONS))
    .addOption(new Option('--environment <name>', 'only this one').choices(['test', 'live']))
    .option(...ORGANISATION_OPTION)
    .action(async (options: ListOptions) => {
      if (options.status !== undefined && !STATUSES.includes(options.status)) {
        throw new CommandError(`--status must be one of ${STATUSES.join(', ')}.`, EXIT.usage);
      }
      const found = await withDatabase('application', async (sql, settings) =>
        listReviewCases(sql, await chooseOrganisation(sql, settings, options.organisation), options, CASES_MAX),
      );
      printLeftOut(found.cases.length, found.total, 'the oldest', 'Narrow with --reason, --environment or --status.');
      const cases = found.cases.map(caseView);
      if (options.json) return printJson(cases);
      printTable(
        ['Id', 'Reason', 'Status', 'Kobo', 'For', 'Since (UTC)'],
        cases.map((row) => [
          row.id,
          row.reason,
          row.status,
          String(row.amount),
          row.paymentId ?? row.walletId ?? '-',
          timeText(row.since),
        ]),
        'Nothing waits for a decision.',
      );
    });
}

function addShow(group: Command): void {
  addCommand(group, 'show <id>', 'show a case', 'reviews show svc_01k5…_rev')
    .option(...ORGANISATION_OPTION)
    .action(async (id: string, options: { organisation?: string; json?: true }) => {
      const uuid = parseId('reviewCase', id);
      if (uuid === null) throw new CommandError(`${id} is not a case id: one looks like svc_…_rev.`, EXIT.usage);
      const found = await withDatabase('application', async (sql, settings) => {
        const organisationId = await chooseOrganisation(sql, settings, options.organisation);
        const row = await findCaseOf(sql, organisationId, uuid);
        if (row === null) return null;
        const { environment, inboundCreditId } = row;
        const credit =
          inboundCreditId === null
            ? null
            : await findInboundCredit(sql, { organisationId, environment }, inboundCreditId);
        return { row, credit, kept: await findBreak(sql, organisationId, uuid) };
      });
      if (found === null) throw new CommandError(`There is no review case ${id} in this organisation.`);
      const { id: shown, ...rest } = caseView(found.row);
      // By the session id the bank knows the credit.
      const view = { ...rest, sessionId: found.credit?.sessionId ?? null };
      const kept = found.kept && breakView(found.kept);
      if (options.json) return printJson({ id: shown, ...view, break: kept });
      printTable(
        ['Review case', shown],
        Object.entries({ ...view, ...kept }).map(([name, value]) => [
          name,
          value instanceof Date ? timeText(value) : String(value ?? '-'),
        ]),
        '',
      );
    });
}

function addResolve(group: Command): void {
  addCommand(
    group,
    'resolve <id>',
    'credit the money to a wallet, return it to the sender, move it to unclaimed; close a break; ask the rail again for a credit',
    'reviews resolve svc_01k5…_rev --action credit --reason "the customer called"',
  )
    .requiredOption(
      '--action <action>',
      'credit, return_to_sender or move_to_unclaimed; close for a reconciliation break; retry or close for a credit that is not confirmed',
    )
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option('--wallet <id>', 'credit this wallet instead of the one that the money came for')
    .option('--evidence <text>', 'what it rests on, for example the bank’s ticket; nothing is settled without')
    .option(...OPERATOR_OPTION)
    .action(
      async (
        id: string,
        options: {
          action: string;
          reason: string;
          wallet?: string;
          evidence?: string;
          operator?: string;
          json?: true;
        },
      ) => {
        const decision: ReviewDecision = {
          action: options.action as ReviewAction, // the flow's validator has the last word
          reason: options.reason,
          operator: operatorName(options.operator),
          ...(options.wallet !== undefined && { walletId: options.wallet }),
          ...(options.evidence !== undefined && { evidence: options.evidence }),
        };
        const answer = await withTemporal(async (client) => {
          try {
            return await client.workflow
              .getHandle(id)
              .executeUpdate<ReviewAnswer, [ReviewDecision]>('resolveCase', { args: [decision] });
          } catch (error) {
            const refusal = refusalOf(error);
            if (refusal !== null) throw new CommandError(refusal);
            if (isNoFlow(error)) throw new CommandError(`There is no open review case ${id}.`);
            throw error;
          }
        });
        if (answer.outcome === 'refused') throw new CommandError(answer.message);
        if (options.json) return printJson({ id, ...answer });
        printLine(answer.message);
      },
    );
}
