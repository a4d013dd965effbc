// `organisations …`: create organisations with their settlement wallets, and list them.
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { publicId } from '../ids.ts';
import { createOrganisation, listOrganisations, type Organisation } from '../resources/organisations.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { text } from './options.ts';
import { printResult, printRows } from './print.ts';
import { signedIn } from './signIn.ts';

/** The default email of a settlement wallet. Addresses under `.invalid` never receive mail (RFC 2606). */
const EMAIL_DEFAULT = 'settlement@manilla.invalid';

export function addOrganisationCommands(program: Command): void {
  const group = program.command('organisations').description('create and list organisations');

  addCommand(group, 'create', 'create an organisation and its settlement wallets, one for test and one for live')
    .example('organisations create --name "Acme Ltd" --email money@acme.example --json')
    .requiredOption('--name <name>', 'the name of the organisation', text(200))
    .option('--email <email>', 'the email address of its settlement wallets', email, EMAIL_DEFAULT)
    .action(async (options: { name: string; email: string; json?: true }) => {
      const { name, email: address } = options;
      const created = await signedIn('organisations create', (sql, { proof }) =>
        createOrganisation(sql, { name, email: address, proof }),
      );
      const { organisationId, settlementWalletId, liveSettlementWalletId } = publicForm(created);
      printResult(
        options,
        { organisationId, settlementWalletId, liveSettlementWalletId },
        `Organisation       ${organisationId}`,
        `Settlement wallet  ${settlementWalletId}  (test)`,
        `Settlement wallet  ${liveSettlementWalletId}  (live)`,
      );
    });

  addCommand(group, 'list', 'list the organisations and their settlement wallets')
    .example('organisations list')
    .action(async (options: { json?: true }) => {
      const organisations = (await withDatabase('application', (sql) => listOrganisations(sql))).map(publicForm);
      printRows(
        options,
        organisations,
        ['organisationId', 'name', 'settlementWalletId', 'liveSettlementWalletId', 'createdAt'],
        'There is no organisation yet. Create one: npm run cli -- organisations create --name NAME',
      );
    });
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
