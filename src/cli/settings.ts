// Settings of the commands: environment variables first, else the quickstart file that `npm start` wrote, so that a
// command needs no settings beside `npm start`.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { bankInterest, type Config } from '../config.ts';
import { type Keyring, parseKeyring } from '../keyring.ts';
import type { LineAccounts } from '../reconciliation/files/statement.ts';
import { CommandError } from './failure.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** What the commands read of quickstart.json, and of secrets.json: the keys of the stack that `npm start` runs. */
const stateFileSchema = z
  .object({
    databaseUrl: z.string(),
    ownerDatabaseUrl: z.string(),
    temporalAddress: z.string(),
    organisationId: z.string(),
    operatorKey: z.string(),
    manillaKeys: z.string(),
  })
  .partial();

export type Settings = ReturnType<typeof readSettings>;

/** `.manilla` in the project, or MANILLA_HOME; a relative MANILLA_HOME is resolved against the project. */
export const stateFolderPath = (environment: NodeJS.ProcessEnv = process.env): string =>
  path.resolve(PROJECT, environment.MANILLA_HOME || '.manilla');

/** Reads the settings. Throws a CommandError that says how to supply a missing one. */
export function readSettings(environment = process.env) {
  const folder = stateFolderPath(environment);
  const file = path.join(folder, 'quickstart.json');
  const quickstart = readStateFile(file);
  const fromEnvironment = environment.DATABASE_URL || undefined;
  const databaseUrl = fromEnvironment ?? quickstart.databaseUrl;
  if (databaseUrl === undefined) {
    throw new CommandError(
      `There is no ${file}. Set DATABASE_URL, or run \`npm start\` first, with the same MANILLA_HOME.`,
    );
  }
  const isQuickstart = databaseUrl === quickstart.databaseUrl;
  const { organisationId, operatorKey } = isQuickstart ? quickstart : {};
  const { manillaKeys } = isQuickstart ? readStateFile(path.join(folder, 'secrets.json')) : {};
  return {
    databaseUrl,
    /** For migrations and for what only the owner may do; undefined when it is not set for this database. */
    ownerDatabaseUrl:
      environment.OWNER_DATABASE_URL || (fromEnvironment === undefined ? quickstart.ownerDatabaseUrl : undefined),
    temporalAddress: environment.TEMPORAL_ADDRESS || quickstart.temporalAddress,
    /** Public id of the quick start's organisation; undefined when DATABASE_URL is another database. */
    organisationId,
    /** The key of the operator who runs the command; the quick start's only with its database. */
    operatorKey: environment.MANILLA_OPERATOR_KEY || operatorKey,
    /** The keys of the service (`MANILLA_KEYS`); the quick start's only with its database. */
    keys: environment.MANILLA_KEYS || manillaKeys,
    /** The accounts of a bank's own lines, by its word for them. */
    lineAccounts: readLineAccounts(environment.STATEMENT_LINE_ACCOUNTS ?? ''),
    interest: readInterest(environment.BANK_INTEREST),
  };
}

function readInterest(value: string | undefined): Config['interest'] {
  const parsed = bankInterest.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandError('BANK_INTEREST must be own or customers.');
}

const LINE_ACCOUNT = /^([a-z0-9_]{1,40})=((?:liability|receivable|expense|loss|income):[a-z][a-z0-9_]{0,39})$/;

/** Reads `vat=receivable:vat,stamp_duty=liability:stamp_duty`. */
function readLineAccounts(list: string): LineAccounts {
  const entries = list
    .split(',')
    .filter((one) => one !== '')
    .map((one): [string, string] => {
      const [, word = '', account = ''] = LINE_ACCOUNT.exec(one.trim()) ?? [];
      if (word !== '') return [word, account];
      throw new CommandError(
        `STATEMENT_LINE_ACCOUNTS has ${one}. Write it as vat=receivable:vat,stamp_duty=liability:stamp_duty.`,
      );
    });
  return Object.fromEntries(entries);
}

/** Reads a file of the state folder; without the file, nothing is set. */
function readStateFile(file: string): z.infer<typeof stateFileSchema> {
  try {
    return stateFileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    if (code === 'ENOENT') return {};
    throw new CommandError(
      code === undefined
        ? `${file} is not valid. Run \`npm start\` again, or set DATABASE_URL.`
        : `${file} cannot be read (${message}). Set DATABASE_URL instead.`,
    );
  }
}

/** The URL for the database's owner. Throws a CommandError that says how to supply it. */
export function ownerUrlOf({ ownerDatabaseUrl }: Settings): string {
  if (ownerDatabaseUrl !== undefined) return ownerDatabaseUrl;
  throw new CommandError('Set OWNER_DATABASE_URL: this command needs the login of the owner of the database.');
}

/** The keyring of the service. Throws a CommandError that says how to supply it. */
export function keyringOf({ keys }: Settings): Keyring {
  if (keys === undefined) throw new CommandError('Set MANILLA_KEYS to the keys of the service.');
  return parseKeyring(keys);
}
