// `adjustments …`: request a correction of the books or its reversal; approve, reject, list and show them.
import { InvalidArgumentError, Option } from 'commander';
import { publicId, type Uuid } from '../ids.ts';
import { Journal } from '../ledger/journal.ts';
import type { Posting } from '../ledger/postings.ts';
import {
  type AdjustmentReport,
  type AdjustmentStatus,
  listAdjustments,
  listAuditEntries,
  reportAdjustment,
} from '../resources/adjustments/queries.ts';
import { type RequestOutcome, requestAdjustment, requestReversal } from '../resources/adjustments/request.ts';
import type { AdjustmentAction, AdjustmentDecision } from '../workflows/adjustment/messages.ts';
import { type BookOptions, inOrganisation, notInOrganisation, type OrganisationOptions, requireId } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError } from './failure.ts';
import { environmentOption, evidenceOption, organisationOption, reasonOption, text, time } from './options.ts';
import { printAudit, printFields, printJson, printLeftOut, printResult, printRows } from './print.ts';
import { createCode } from './signIn.ts';
import { sendDecision } from './temporal.ts';

/** The maximum number of adjustments in a list; the newest are listed first. */
const ADJUSTMENTS_MAX = 500;
/** As of the descriptions that callers give. */
const DESCRIPTION_MAX = 200;
const STATUSES: readonly AdjustmentStatus[] = ['requested', 'posted', 'rejected'];

export function addAdjustmentCommands(program: Command): void {
  const group = program
    .command('adjustments')
    .description('correct the books: one operator requests an adjustment, another approves or rejects it');

  addCommand(group, 'request', 'request an adjustment; nothing is posted until another operator approves it')
    .example(
      'adjustments request --environment live --posting "expense:rail clearing:bank 5250" --reason "charges of May" --evidence "statement of 31 May"',
    )
    .addOption(environmentOption('the environment of the book').makeOptionMandatory())
    .requiredOption(
      '--posting <posting>',
      '"DEBIT CREDIT KOBO": the account to debit, the account to credit, the amount; repeatable',
      collectPosting,
      [],
    )
    .option('--at <time>', 'the time that it is about, in an open period (default: when it is posted)', time)
    .option('--resource <id>', 'the resource that it corrects, such as svc_…_wth')
    .option('--description <text>', 'what customers read in their statements', text(DESCRIPTION_MAX))
    .addOption(reasonOption())
    .addOption(evidenceOption())
    .addOption(organisationOption('the book'))
    .action(async (options: RequestOptions & BookOptions & SubjectOptions & { posting: Posting[] }) => {
      const { environment, posting, reason, evidence, at, resource, description } = options;
      const outcome = await inOrganisation('adjustments request', options, (sql, organisationId, { proof }) => {
        const about = { effectiveAt: at ?? null, corrects: resource ?? null, description: description ?? null };
        const grounds = { reason, evidence, proof, ...about };
        return requestAdjustment({ sql, journal: new Journal(sql) }, { organisationId, environment }, posting, grounds);
      });
      printRequested(options, outcome);
    });

  addCommand(group, 'reverse <id>', 'request the reversal of a posted adjustment; another operator approves it')
    .example('adjustments reverse svc_01k5…_adj --reason "wrong wallet" --evidence "ticket 1235"')
    .addOption(reasonOption())
    .addOption(evidenceOption())
    .addOption(organisationOption('the book'))
    .action(async (id: string, options: RequestOptions) => {
      const uuid = requireAdjustmentId(id);
      const { reason, evidence } = options;
      const outcome = await inOrganisation('adjustments reverse', options, async (sql, organisationId, { proof }) => {
        const report = await reportAdjustment(sql, organisationId, uuid);
        if (report === null) throw notInOrganisation(`adjustment ${id}`);
        const book = { organisationId, environment: report.environment };
        const grounds = { reason, evidence, proof };
        return await requestReversal({ sql, journal: new Journal(sql) }, book, uuid, grounds);
      });
      printRequested(options, outcome);
    });
  addDecision(group, 'approve', 'post an adjustment that another operator requested', "agrees with the bank's letter");
  addDecision(group, 'reject', 'end an adjustment without posting it', 'the amount is wrong');

  addCommand(group, 'list', 'list adjustments, newest first')
    .example('adjustments list --status requested')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .addOption(environmentOption('only this environment'))
    .addOption(organisationOption('the book'))
    .action(async (options: Partial<BookOptions> & { status?: AdjustmentStatus }) => {
      const page = await inOrganisation('adjustments list', options, (sql, organisationId) =>
        listAdjustments(sql, organisationId, options, ADJUSTMENTS_MAX),
      );
      printLeftOut(page.adjustments.length, page.total, 'the newest', 'Narrow with --status or --environment.');
      printRows(
        options,
        page.adjustments.map(adjustmentView),
        ['id', 'status', 'environment', 'amount', 'reason', 'createdAt'],
        'There is no such adjustment.',
      );
    });

  addCommand(group, 'show <id>', 'show an adjustment and its postings')
    .example('adjustments show svc_01k5…_adj')
    .addOption(organisationOption('the book'))
    .action(async (id: string, options: OrganisationOptions) => {
      const uuid = requireAdjustmentId(id);
      const { row, audit } = await inOrganisation('adjustments show', options, async (sql, organisationId) => ({
        row: await reportAdjustment(sql, organisationId, uuid),
        audit: await listAuditEntries(sql, organisationId, id),
      }));
      if (row === null) throw notInOrganisation(`adjustment ${id}`);
      const { id: name, ...view } = adjustmentView(row);
      if (options.json) return printJson({ id: name, ...view, postings: row.postings, audit });
      printFields('Adjustment', name, view);
      printRows({}, row.postings, ['debit', 'credit', 'amount']);
      printAudit(audit);
    });
}

interface SubjectOptions {
  at?: Date;
  resource?: string;
  description?: string;
}

export interface RequestOptions extends OrganisationOptions {
  reason: string;
  evidence: string;
}

function collectPosting(value: string, earlier: Posting[]): Posting[] {
  const [debit = '', credit = '', amount = '', ...rest] = value.trim().split(/\s+/);
  if (rest.length > 0 || !/^[1-9]\d{0,14}$/.test(amount))
    throw new InvalidArgumentError('It must be "DEBIT CREDIT KOBO", for example "expense:rail clearing:bank 5250".');
  return [...earlier, { debit, credit, amount: Number(amount) }];
}

const requireAdjustmentId = (id: string): Uuid =>
  requireId('adjustment', id, 'an adjustment id, such as svc_…_adj. See: npm run cli -- adjustments list');

export function printRequested(options: OrganisationOptions, outcome: RequestOutcome): void {
  if (outcome.outcome === 'refused') throw new CommandError(outcome.message);
  const id = publicId('adjustment', outcome.id);
  const line = `Requested ${id}. Another operator decides: npm run cli -- adjustments approve ${id} --reason "…"`;
  printResult(options, { id, status: 'requested' }, line);
}

function addDecision(group: Command, action: AdjustmentAction, description: string, reason: string): void {
  addCommand(group, `${action} <id>`, description)
    .example(`adjustments ${action} svc_01k5…_adj --reason "${reason}"`)
    .addOption(reasonOption())
    .action(async (id: string, options: { reason: string; json?: true }) => {
      requireAdjustmentId(id);
      const { code } = await createCode(`adjustments ${action}`, id, action);
      const decision: AdjustmentDecision = { action, reason: options.reason, code };
      const missing = `There is no open adjustment ${id}. See: npm run cli -- adjustments list`;
      await sendDecision(options, id, { name: 'decide', args: [decision] }, missing);
    });
}

const adjustmentView = (row: AdjustmentReport) => ({
  id: publicId('adjustment', row.id),
  status: row.status,
  environment: row.environment,
  amount: row.postings.reduce((sum, { amount }) => sum + amount, 0),
  reason: row.reason,
  evidence: row.evidence,
  effectiveAt: row.effectiveAt,
  corrects: row.corrects,
  description: row.description,
  reverses: row.reverses && publicId('adjustment', row.reverses),
  reversedBy: row.reversedBy && publicId('adjustment', row.reversedBy),
  requestedBy: publicId('operator', row.requestedBy),
  decidedBy: row.decidedBy && publicId('operator', row.decidedBy),
  createdAt: row.createdAt,
  decidedAt: row.decidedAt,
});
