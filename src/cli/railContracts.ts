// `rail connect`, `rail rotate` and `rail disconnect`: contracts with providers. Credentials come from a file, from the
// environment or from a prompt, never from the command line, which other users of the machine can read.
import type { Sql } from '../database/pool.ts';
import { newUuid, publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { RailProvider } from '../rail/provider.ts';
import type { AuditNote } from '../resources/rails/audit.ts';
import {
  connectContract,
  disconnectContract,
  findContract,
  rotateContract,
  type StoredContract,
} from '../resources/rails/contracts.ts';
import { inOrganisation, type OrganisationOptions } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError } from './failure.ts';
import { environmentOption, organisationOption, reasonOption } from './options.ts';
import { printResult } from './print.ts';
import { CREDENTIALS, PROVIDER_NAMES, readCredentials, requireProvider } from './railCredentials.ts';
import { keyringOf, readSettings } from './settings.ts';
import type { SignedCommand } from './signIn.ts';

interface Options extends OrganisationOptions {
  credentials?: string;
  reason: string;
}

export function addContractCommands(group: Command): void {
  const add = (name: string, description: string, words = `rail ${name}`) =>
    addCommand(group, name, description)
      .example(`${words} --environment live --reason "go live"`)
      .addOption(organisationOption('the contract'))
      .addOption(
        environmentOption('live: the test environment always uses the sandbox bank')
          .choices(['live'])
          .makeOptionMandatory(),
      )
      .addOption(reasonOption());
  const credentialsOption = `a JSON file with the credentials; default: ${CREDENTIALS}, else a prompt`;

  add(
    'connect',
    'connect a contract with a provider, through which an organisation moves real money',
    'rail connect PROVIDER',
  )
    .argument('<provider>', PROVIDER_NAMES)
    .option('--credentials <file>', credentialsOption)
    .action(async (name: string, options: Options) => {
      await change('rail connect', options, async (sql, book, note) => {
        const provider = requireProvider(name);
        const credentials = await readCredentials(provider, options.credentials);
        const contract = sealedContract(provider, newUuid(), credentials);
        if (!(await connectContract(sql, book, contract, note))) {
          throw new CommandError('The organisation has connected a provider already. See: npm run cli -- rail show');
        }
        return { text: `Connected ${name}.`, contract };
      });
    });

  add('rotate', 'replace the credentials of the connected contract')
    .option('--credentials <file>', credentialsOption)
    .action(async (options: Options) => {
      await change('rail rotate', options, async (sql, book, note) => {
        const { id, rail } = await requireContract(sql, book);
        const provider = requireProvider(rail);
        const contract = sealedContract(provider, id, await readCredentials(provider, options.credentials));
        if (!(await rotateContract(sql, book, contract, note)))
          throw new CommandError('It was disconnected meanwhile.');
        return { text: `Replaced the credentials of ${rail}; processes follow within seconds.`, contract };
      });
    });

  add('disconnect', 'accept nothing new for the connected contract, and remove it once nothing is on its way').action(
    async (options: Options) => {
      await change('rail disconnect', options, async (sql, book, note) => {
        const contract = await requireContract(sql, book);
        const done = await disconnectContract(sql, book, contract, note);
        const text =
          done.outcome === 'disconnected'
            ? `Disconnected ${contract.rail}, and removed its credentials.`
            : `${contract.rail} accepts nothing new; ${done.onItsWay} are on their way. Run it again later, in half a minute at the earliest.`;
        return { text, contract, ...done };
      });
    },
  );
}

/** Runs a change of a contract, and prints what it did. */
async function change(
  command: SignedCommand,
  options: Options,
  work: (
    sql: Sql,
    book: Book,
    note: AuditNote,
  ) => Promise<{ text: string; contract: Pick<StoredContract, 'id' | 'rail'> } & Record<string, unknown>>,
): Promise<void> {
  const { text, contract, ...more } = await inOrganisation(command, options, async (sql, organisationId, { proof }) =>
    work(sql, { organisationId, environment: 'live' }, { proof, reason: options.reason }),
  );
  printResult(
    options,
    {
      contract: publicId('railContract', contract.id),
      rail: contract.rail,
      callbackPath: callbackPath(contract),
      ...more,
    },
    text,
    `Callback address: https://<live host>${callbackPath(contract)}`,
  );
}

/** The path of the address that the provider calls back. */
export const callbackPath = ({ id, rail }: Pick<StoredContract, 'id' | 'rail'>): string =>
  `/v1/rails/${rail}/callbacks/${publicId('railContract', id)}`;

export async function requireContract(sql: Sql, book: Book): Promise<StoredContract> {
  const contract = await findContract(sql, book);
  if (contract === null)
    throw new CommandError('The organisation has no connected contract. See: npm run cli -- rail connect --help');
  return contract;
}

function sealedContract(provider: RailProvider, id: Uuid, credentials: unknown) {
  const sealed = keyringOf(readSettings()).seal('rail-credentials', id, JSON.stringify(credentials));
  return { id, rail: provider.name, sealed };
}
