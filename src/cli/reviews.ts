// `reviews …`: list, show and resolve review cases: money in suspense, breaks and unconfirmed credits.
import { Option } from 'commander';
import { parseId, publicId } from '../ids.ts';
import type { Environment } from '../money.ts';
import { findBreak, type StoredBreak } from '../reconciliation/queries.ts';
import { startReviewCase } from '../resources/flows.ts';
import { findInboundCredit } from '../resources/inboundCredits/queries.ts';
import {
  findCaseOf,
  listReviewCases,
  REVIEW_REASONS,
  REVIEW_STATUSES,
  type ReviewCase,
  type ReviewReason,
  returnReference,
} from '../resources/reviewCases/queries.ts';
import type { FlowMessage } from '../workflows/flows.ts';
import type { DecisionAnswer } from '../workflows/operators/messages.ts';
import { attentionOf } from '../workflows/reviewCase/decide.ts';
import type { ReviewAction, ReviewDecision } from '../workflows/reviewCase/messages.ts';
import {
  type BookOptions,
  inOrganisation,
  notInOrganisation,
  type OrganisationOptions,
  ofOrganisation,
  requireId,
} from './books.ts';
import { addCommand, type Command } from './command.ts';
import { environmentOption, organisationOption } from './options.ts';
import { printFields, printJson, printLeftOut, printRows } from './print.ts';
import { keyringOf, readSettings } from './settings.ts';
import { createCode } from './signIn.ts';
import { flowsQueue, sendDecision, type Update } from './temporal.ts';

/** The maximum number of cases in a list; the oldest are listed first. */
const CASES_MAX = 500;

export function addReviewCommands(program: Command): void {
  const group = program
    .command('reviews')
    .description('list, show and resolve review cases: money in suspense, reconciliation breaks, unconfirmed credits');

  addCommand(group, 'list', 'list the cases that are not resolved, oldest first')
    .example('reviews list --reason reconciliation_break')
    .addOption(new Option('--status <status>', 'only this status').choices(REVIEW_STATUSES))
    .addOption(new Option('--reason <reason>', 'only this reason').choices(REVIEW_REASONS))
    .addOption(environmentOption('only this environment'))
    .addOption(organisationOption('the cases'))
    .action(async (options: Partial<BookOptions> & { status?: ReviewCase['status']; reason?: ReviewReason }) => {
      const page = await inOrganisation('reviews list', options, (sql, organisationId) =>
        listReviewCases(sql, organisationId, options, CASES_MAX),
      );
      printLeftOut(page.cases.length, page.total, 'the oldest', 'Narrow with --reason, --environment or --status.');
      printRows(
        options,
        page.cases.map(caseView),
        ['id', 'reason', 'status', 'amount', { For: (row) => row.paymentId ?? row.walletId }, 'since'],
        'There is no such review case.',
      );
    });

  addCommand(group, 'show <id>', 'show a review case')
    .example('reviews show svc_01k5…_rev')
    .addOption(organisationOption('the cases'))
    .action(async (id: string, options: OrganisationOptions) => {
      const such = 'a review case id, such as svc_…_rev. See: npm run cli -- reviews list';
      const uuid = requireId('reviewCase', id, such);
      const stored = await inOrganisation('reviews show', options, async (sql, organisationId) => {
        const row = await findCaseOf(sql, organisationId, uuid);
        if (row === null) throw notInOrganisation(`review case ${id}`);
        const { environment, inboundCreditId } = row;
        const book = { organisationId, environment };
        const credit = inboundCreditId === null ? null : await findInboundCredit(sql, book, inboundCreditId);
        return { row, credit, storedBreak: await findBreak(sql, organisationId, uuid) };
      });
      const { id: caseId, ...rest } = caseView(stored.row);
      // The rail identifies the credit by its session id, the sender's bank by its own.
      const { sessionId = null, senderSessionId = null } = stored.credit ?? {};
      const view = { ...rest, sessionId, senderSessionId };
      const breakOfCase = stored.storedBreak && breakView(stored.storedBreak);
      if (options.json) return printJson({ id: caseId, ...view, break: breakOfCase });
      printFields('Review case', caseId, { ...view, ...breakOfCase });
    });

  addCommand(
    group,
    'resolve <id>',
    'credit the money to a wallet, return it to the sender or move it to unclaimed; close a break; retry an unconfirmed credit',
  )
    .example('reviews resolve svc_01k5…_rev --action credit --reason "the customer called"')
    .requiredOption(
      '--action <action>',
      'credit, return_to_sender or move_to_unclaimed; close for a reconciliation break; retry or close for an unconfirmed credit',
    )
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .option('--wallet <id>', 'the wallet to credit (default: the one that the money was sent to)')
    .option('--waive-fee', 'credit without the fee that its payment would have had')
    .option('--evidence <text>', "the evidence for the decision, for example the bank's ticket; required for close")
    .addOption(organisationOption('the cases'))
    .action(async (id: string, { action, reason, wallet, waiveFee, evidence, ...options }: ResolveOptions) => {
      const { code } = await createCode('reviews resolve', id, wallet === undefined ? action : `${action} ${wallet}`);
      const decision: ReviewDecision = { action, reason, code, walletId: wallet, waiveFee, evidence }; // validated by the flow
      const update: Update = { name: 'resolveCase', args: [decision] };
      const missing = `There is no open review case ${id}. List the open ones: npm run cli -- reviews list`;
      await sendDecision(options, id, update, missing, async (client) => {
        const start = await startOfUnclaimed(id, options);
        if (start === null) return null;
        const { updateFlow } = await import('../outbox/startFlow.ts');
        return await updateFlow<DecisionAnswer>(client, flowsQueue(), start, update);
      });
    });
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
  fee: row.fee,
  lateBySeconds: row.lateBySeconds,
  account: row.accountCode,
  paymentId: row.paymentId && publicId('payment', row.paymentId),
  walletId: row.walletId && publicId('wallet', row.walletId),
  inboundCreditId: row.inboundCreditId && publicId('inboundCredit', row.inboundCreditId),
  transfer: row.transfer,
  /** The rail reference of the last attempt to return the money; `failure` and the two after it say how. */
  reference: row.attempts === 0 ? null : returnReference(row),
  attempts: row.attempts,
  failure: row.failure,
  failureCode: row.failureCode,
  failureReason: row.failureReason,
  since: row.createdAt,
  resolvedAt: row.resolvedAt,
});

function breakView({
  id,
  version: _version,
  occurrence: _occurrence,
  createdAt: _at,
  sealedRow,
  ...rest
}: StoredBreak) {
  return { ...rest, ...(sealedRow !== null && { row: keyringOf(readSettings()).open('rail-row', id, sealedRow) }) };
}

interface ResolveOptions extends OrganisationOptions {
  action: ReviewAction;
  reason: string;
  wallet?: string;
  waiveFee?: true;
  evidence?: string;
}

/** The message that starts the ended flow of an unclaimed case, which a decision restarts; null for other cases. */
async function startOfUnclaimed(id: string, options: OrganisationOptions): Promise<FlowMessage | null> {
  const uuid = parseId('reviewCase', id);
  if (uuid === null) return null;
  return await ofOrganisation(options, async (sql, organisationId) => {
    const row = await findCaseOf(sql, organisationId, uuid);
    if (row?.status !== 'unclaimed') return null;
    return startReviewCase({ organisationId, environment: row.environment }, row).message;
  });
}
