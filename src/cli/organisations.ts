// `organisations …`: create organisations with their settlement wallets, and list them. Also selects the organisation
// that another command applies to.
import type { Command } from 'commander';
import { z } from 'zod';
import type { Sql } from '../database/pool.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { Operator } from '../resources/operators.ts';
import { createOrganisation, listOrganisations, type Organisation } from '../resources/organisations.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import type { Settings } from './settings.ts';
import { type SignedCommand, signIn } from './signIn.ts';
import { checkText } from './texts.ts';

/** The default email of a settlement wallet. Addresses under `.invalid` never receive mail (RFC 2606). */
const EMAIL_DEFAULT = 'settlement@manilla.invalid';

export function addOrganisationCommands(program: Command): void {
  const group = program.command('organisations').description('create and list organisations');

  addCommand(
    group,
    'create',
    'create an organisation and its settlement wallets, one for test and one for live',
    'organisations create --name "Acme Ltd" --email money@acme.example --json',
  )
    .requiredOption('--name <name>', 'the name of the organisation')
    .option('--email <email>', 'the email address of its settlement wallets', EMAIL_DEFAULT)
    .action(async (options: { name: string; email: string; json?: true }) => {
      const name = checkText('--name', options.name, 200);
      const email = check('--email', z.email().max(254), options.email);
      const created = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'organisations create');
        return await createOrganisation(sql, { name, email, operator });
      });
      const { organisationId, settlementWalletId, liveSettlementWalletId } = publicForm(created);
      if (options.json) return printJson({ organisationId, settlementWalletId, liveSettlementWalletId });
      printLine(`Organisation       ${organisationId}`);
      printLine(`Settlement wallet  ${settlementWalletId}  (test)`);
      printLine(`Settlement wallet  ${liveSettlementWalletId}  (live)`);
    });

  addCommand(group, 'list', 'list the organisations and their settlement wallets', 'organisations list').action(
    async (options: { json?: true }) => {
      const organisations = (await withDatabase('application', (sql) => listOrganisations(sql))).map(publicForm);
      if (options.json) return printJson(organisations);
      printTable(
        ['Organisation', 'Name', 'Settlement wallet (test)', 'Settlement wallet (live)', 'Created (UTC)'],
        organisations.map((organisation) => [
          organisation.organisationId,
          organisation.name,
          organisation.settlementWalletId,
          organisation.liveSettlementWalletId,
          timeText(organisation.createdAt),
        ]),
        'There is no organisation yet. Create one: npm run cli -- organisations create --name NAME',
      );
    },
  );
}

const publicForm = (organisation: Organisation) => ({
  ...organisation,
  organisationId: publicId('organisation', organisation.organisationId),
  settlementWalletId: publicId('wallet', organisation.settlementWalletId),
  liveSettlementWalletId: publicId('wallet', organisation.liveSettlementWalletId),
});

function check(option: string, schema: z.ZodType<string>, value: string): string {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandError(`${option}: ${parsed.error.issues[0]?.message}.`, EXIT.usage);
}

/** Returns the organisation that a command applies to: the given one, else the quick start's, else the only one. */
export async function chooseOrganisation(sql: Sql, settings: Settings, given: string | undefined): Promise<Uuid> {
  const organisations = await listOrganisations(sql);
  const selected = given ?? settings.organisationId;
  if (selected !== undefined) {
    const id = parseId('organisation', selected);
    const match = organisations.find((organisation) => organisation.organisationId === id);
    if (match !== undefined) return match.organisationId;
    if (given !== undefined) {
      throw new CommandError(`There is no organisation ${given}. See: npm run cli -- organisations list`);
    }
  }
  const [only, ...others] = organisations;
  if (only === undefined) {
    throw new CommandError('There is no organisation yet. Run: npm run cli -- organisations create --name NAME');
  }
  if (others.length > 0) {
    throw new CommandError(
      `There are ${organisations.length} organisations. Select one with --organisation ID. See: npm run cli -- organisations list`,
      EXIT.usage,
    );
  }
  return only.organisationId;
}

/** Signs in, and runs `work` in the organisation that the command applies to. */
export async function inOrganisation<Result>(
  command: SignedCommand,
  { organisation }: { organisation?: string },
  work: (sql: Sql, organisationId: Uuid, operator: Operator & { id: Uuid }) => Promise<Result>,
): Promise<Result> {
  return await withDatabase('application', async (sql, settings) => {
    const operator = await signIn(sql, settings, command);
    return await work(sql, await chooseOrganisation(sql, settings, organisation), operator);
  });
}
