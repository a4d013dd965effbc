// `adjustments …`: request a correction of the books, or the reversal of one; approve or reject it as another operator;
// list and show them.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { Posting } from '../ledger/postings.ts';
import type { Environment } from '../money.ts';
import {
  type AdjustmentReport,
  type AdjustmentStatus,
  listAdjustments,
  listAuditEntries,
  reportAdjustment,
} from '../resources/adjustments/queries.ts';
import type { RequestOutcome } from '../resources/adjustments/request.ts';
import type { AdjustmentAction, AdjustmentDecision } from '../workflows/adjustment/messages.ts';
import type { DecisionAnswer } from '../workflows/operators/messages.ts';
import { addCommand, environmentOption, organisationOption } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { evidenceOption, reasonOption } from './options.ts';
import { inOrganisation } from './organisations.ts';
import {
  fieldRows,
  moneyText,
  printAudit,
  printJson,
  printLeftOut,
  printLine,
  printRows,
  printTable,
  timeText,
} from './print.ts';
import { createCode } from './signIn.ts';
import { sendUpdate, withTemporal } from './temporal.ts';

/** The maximum number of adjustments in a list; the newest are listed first. */
const ADJUSTMENTS_MAX = 500;
const STATUSES: readonly AdjustmentStatus[] = ['requested', 'posted', 'rejected'];

export function addAdjustmentCommands(program: Command): void {
  const group = program
    .command('adjustments')
    .description('correct the books: one operator requests an adjustment, another approves or rejects it');
  addRequest(group);
  addReverse(group);
  addDecision(group, 'approve', 'post an adjustment that another operator requested', "agrees with the bank's letter");
  addDecision(group, 'reject', 'end an adjustment without posting it', 'the amount is wrong');
  addList(group);
  addShow(group);
}

interface Grounds {
  reason: string;
  evidence: string;
  organisation?: string;
  json?: true;
}

function addRequest(group: Command): void {
  addCommand(
    group,
    'request',
    'request an adjustment; nothing is posted until another operator approves it',
    'adjustments request --environment live --posting "expense:rail clearing:bank 5250" --reason "charges of May" --evidence "statement of 31 May"',
  )
    .addOption(environmentOption('the environment of the book').makeOptionMandatory())
    .requiredOption(
      '--posting <posting>',
      '"DEBIT CREDIT KOBO": the account to debit, the account to credit, the amount; repeatable',
      collectPosting,
      [],
    )
    .addOption(reasonOption())
    .addOption(evidenceOption())
    .addOption(organisationOption('the book'))
    .action(
      async ({ environment, posting, ...options }: Grounds & { environment: Environment; posting: Posting[] }) => {
        const { reason, evidence } = options;
        const { requestAdjustment } = await import('../resources/adjustments/request.ts');
        const { Journal } = await import('../ledger/journal.ts');
        const outcome = await inOrganisation('adjustments request', options, (sql, organisationId, operator) =>
          requestAdjustment({ sql, journal: new Journal(sql) }, { organisationId, environment }, posting, {
            reason,
            evidence,
            requestedBy: operator.id,
          }),
        );
        printRequested(outcome, options.json);
      },
    );
}

function addReverse(group: Command): void {
  addCommand(
    group,
    'reverse <id>',
    'request the reversal of a posted adjustment; another operator approves it',
    'adjustments reverse svc_01k5…_adj --reason "wrong wallet" --evidence "ticket 1235"',
  )
    .addOption(reasonOption())
    .addOption(evidenceOption())
    .addOption(organisationOption('the book'))
    .action(async (id: string, options: Grounds) => {
      const uuid = requireAdjustmentId(id);
      const { reason, evidence } = options;
      const { requestReversal } = await import('../resources/adjustments/request.ts');
      const { Journal } = await import('../ledger/journal.ts');
      const outcome = await inOrganisation('adjustments reverse', options, async (sql, organisationId, operator) => {
        const report = await reportAdjustment(sql, organisationId, uuid);
        if (report === null) throw noSuchAdjustment(id);
        const book = { organisationId, environment: report.environment };
        const request = { reason, evidence, requestedBy: operator.id };
        return await requestReversal({ sql, journal: new Journal(sql) }, book, uuid, request);
      });
      printRequested(outcome, options.json);
    });
}

function collectPosting(value: string, earlier: Posting[]): Posting[] {
  const [debit = '', credit = '', amount = '', ...rest] = value.trim().split(/\s+/);
  if (rest.length > 0 || !/^[1-9]\d{0,14}$/.test(amount))
    throw new InvalidArgumentError('It must be "DEBIT CREDIT KOBO", for example "expense:rail clearing:bank 5250".');
  return [...earlier, { debit, credit, amount: Number(amount) }];
}

function requireAdjustmentId(id: string): Uuid {
  const uuid = parseId('adjustment', id);
  if (uuid !== null) return uuid;
  throw new CommandError(
    `${id} is not an adjustment id, such as svc_…_adj. See: npm run cli -- adjustments list`,
    EXIT.usage,
  );
}

const noSuchAdjustment = (id: string): CommandError =>
  new CommandError(`There is no adjustment ${id} in this organisation. To look in another one, add --organisation ID.`);

function printRequested(outcome: RequestOutcome, json: true | undefined): void {
  if (outcome.outcome === 'refused') throw new CommandError(outcome.message);
  const id = publicId('adjustment', outcome.id);
  if (json) printJson({ id, status: 'requested' });
  else printLine(`Requested ${id}. Another operator decides: npm run cli -- adjustments approve ${id} --reason "…"`);
}

function addDecision(group: Command, action: AdjustmentAction, description: string, reason: string): void {
  addCommand(group, `${action} <id>`, description, `adjustments ${action} svc_01k5…_adj --reason "${reason}"`)
    .addOption(reasonOption())
    .action(async (id: string, options: { reason: string; json?: true }) => {
      requireAdjustmentId(id);
      const decision: AdjustmentDecision = {
        action,
        reason: options.reason,
        code: await createCode(`adjustments ${action}`, id),
      };
      const missing = `There is no open adjustment ${id}. See: npm run cli -- adjustments list`;
      const answer = await withTemporal((client) =>
        sendUpdate<DecisionAnswer>(client, id, { name: 'decide', args: [decision] }, missing),
      );
      if (answer.outcome === 'refused') throw new CommandError(answer.message);
      if (options.json) return printJson({ id, ...answer });
      printLine(answer.message);
    });
}

const adjustmentView = (row: AdjustmentReport) => ({
  id: publicId('adjustment', row.id),
  status: row.status,
  environment: row.environment,
  amount: row.postings.reduce((sum, { amount }) => sum + amount, 0),
  reason: row.reason,
  evidence: row.evidence,
  reverses: row.reverses && publicId('adjustment', row.reverses),
  reversedBy: row.reversedBy && publicId('adjustment', row.reversedBy),
  requestedBy: publicId('operator', row.requestedBy),
  decidedBy: row.decidedBy && publicId('operator', row.decidedBy),
  createdAt: row.createdAt,
  decidedAt: row.decidedAt,
});

interface ListOptions {
  status?: AdjustmentStatus;
  environment?: Environment;
  organisation?: string;
  json?: true;
}

function addList(group: Command): void {
  addCommand(group, 'list', 'list adjustments, newest first', 'adjustments list --status requested')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .addOption(environmentOption('only this environment'))
    .addOption(organisationOption('the book'))
    .action(async (options: ListOptions) => {
      const page = await inOrganisation('adjustments list', options, (sql, organisationId) =>
        listAdjustments(sql, organisationId, options, ADJUSTMENTS_MAX),
      );
      printLeftOut(page.adjustments.length, page.total, 'the newest', 'Narrow with --status or --environment.');
      const rows = page.adjustments.map(adjustmentView);
      printRows(
        options,
        rows,
        {
          Id: (row) => row.id,
          Status: (row) => row.status,
          Environment: (row) => row.environment,
          Amount: (row) => moneyText(row.amount),
          Reason: (row) => row.reason,
          'Requested (UTC)': (row) => timeText(row.createdAt),
        },
        'There is no such adjustment.',
      );
    });
}

function addShow(group: Command): void {
  addCommand(group, 'show <id>', 'show an adjustment and its postings', 'adjustments show svc_01k5…_adj')
    .addOption(organisationOption('the book'))
    .action(async (id: string, options: { organisation?: string; json?: true }) => {
      const uuid = requireAdjustmentId(id);
      const { row, audit } = await inOrganisation('adjustments show', options, async (sql, organisationId) => ({
        row: await reportAdjustment(sql, organisationId, uuid),
        audit: await listAuditEntries(sql, organisationId, id),
      }));
      if (row === null) throw noSuchAdjustment(id);
      const { id: name, ...view } = adjustmentView(row);
      if (options.json) return printJson({ id: name, ...view, postings: row.postings, audit });
      printTable(['Adjustment', name], fieldRows(view), '');
      printTable(
        ['Debit', 'Credit', 'Amount'],
        row.postings.map(({ debit, credit, amount }) => [debit, credit, moneyText(amount)]),
        '',
      );
      printAudit(audit, '');
    });
}
