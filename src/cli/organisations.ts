// `organisations …`: create organisations with their settlement wallets, and list them. Also selects the organisation
// that another command applies to.
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { Sql } from '../database/pool.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { Operator } from '../resources/operators.ts';
import { createOrganisation, listOrganisations, type Organisation } from '../resources/organisations.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { text } from './options.ts';
import { printJson, printLine, printRows, timeText } from './print.ts';
import type { Settings } from './settings.ts';
import { type SignedCommand, signIn } from './signIn.ts';

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
    .requiredOption('--name <name>', 'the name of the organisation', text(200))
    .option('--email <email>', 'the email address of its settlement wallets', email, EMAIL_DEFAULT)
    .action(async (options: { name: string; email: string; json?: true }) => {
      const created = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'organisations create');
        return await createOrganisation(sql, { name: options.name, email: options.email, operator });
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
      printRows(
        options,
        organisations,
        {
          Organisation: (row) => row.organisationId,
          Name: (row) => row.name,
          'Settlement wallet (test)': (row) => row.settlementWalletId,
          'Settlement wallet (live)': (row) => row.liveSettlementWalletId,
          'Created (UTC)': (row) => timeText(row.createdAt),
        },
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

function email(value: string): string {
  const parsed = z.email().max(254).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`${parsed.error.issues[0]?.message}.`);
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
