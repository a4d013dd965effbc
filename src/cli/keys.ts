// `keys …`: create, list, rotate and revoke API keys. A key is printed once, on creation; only its hash is stored.
import { InvalidArgumentError } from 'commander';
import type { Sql } from '../database/pool.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import { parseRange } from '../resources/addressRanges.ts';
import {
  type ApiKeyRow,
  findApiKey,
  insertApiKey,
  keyStatus,
  listApiKeys,
  type NewApiKeyRow,
  replaceApiKey,
  revokeApiKey,
} from '../resources/apiKeys.ts';
import { KEY_SCOPES, type KeyScope, makeApiKey } from '../resources/keys.ts';
import { listOrganisations } from '../resources/organisations.ts';
import { countSealed, recordReEncryption, reEncrypt } from '../resources/reEncryption.ts';
import { DAY_MS } from '../times.ts';
import { type BookOptions, inOrganisation, type OrganisationOptions, ofOrganisation } from './books.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { environmentOption, listOf, organisationOption, scopeList, wholeNumber } from './options.ts';
import { printResult, printRows, timeText } from './print.ts';
import { keyringOf } from './settings.ts';
import { signIn } from './signIn.ts';

const HOUR_MS = 3_600_000;
const DAYS = wholeNumber(36_500, ' of days');
/** Time to deploy the new key to every machine. */
const OVERLAP_HOURS_DEFAULT = 24;

const addresses = listOf(
  (address) => parseRange(address) !== null,
  (invalid) => `No address or CIDR range: ${invalid}.`,
);

export function addKeyCommands(program: Command): void {
  const group = program.command('keys').description('create, list, rotate and revoke API keys');

  addCommand(group, 'create', 'create an API key and print it; it is shown only this once')
    .example('keys create --environment test --scopes wallet,payment --json')
    .addOption(environmentOption().makeOptionMandatory())
    .requiredOption(
      '--scopes <list>',
      `its scopes, separated by commas: ${KEY_SCOPES.join(', ')}`,
      scopeList(KEY_SCOPES),
    )
    .option('--name <name>', 'a name that identifies it in lists')
    .option('--expires-in-days <days>', 'days until it expires (default: never)', DAYS)
    .option('--allowed-ips <list>', 'addresses and CIDR ranges that may use it, separated by commas', addresses)
    .option(
      '--rate-limit <requests>',
      'requests a minute (default: RATE_LIMIT_PER_MINUTE)',
      wholeNumber(1_000_000, ' of requests a minute'),
    )
    .addOption(organisationOption('the key'))
    .action(async (options: CreateOptions) => {
      const created = await inOrganisation('keys create', options, async (sql, organisationId, { proof }) => {
        const { key, row } = makeApiKey(organisationId, {
          ...options,
          name: options.name ?? null,
          expiresAt: inDays(options.expiresInDays),
          allowedIps: options.allowedIps ?? null,
          rateLimit: options.rateLimit ?? null,
        });
        await insertApiKey(sql, row, proof);
        return { key, row };
      });
      printNewKey(options, created, {});
    });

  addCommand(group, 'list', 'list the API keys of an organisation; the keys themselves are not shown')
    .example('keys list')
    .addOption(environmentOption())
    .addOption(organisationOption('the key'))
    .action(async (options: Partial<BookOptions>) => {
      const keys = await ofOrganisation(options, (sql, organisationId) =>
        listApiKeys(sql, organisationId, options.environment),
      );
      const rows = keys.map((key) => ({
        ...key,
        id: publicId('apiKey', key.id),
        createdBy: key.createdBy && publicId('apiKey', key.createdBy),
        status: keyStatus(key),
      }));
      printRows(
        options,
        rows,
        [
          'id',
          'name',
          'environment',
          'scopes',
          { 'Ends in': (key) => `…${key.hint}` },
          'status',
          { 'Created by': (key) => key.createdBy ?? 'operator' },
          'createdAt',
          'lastUsedAt',
          'expiresAt',
        ],
        'There is no API key yet. Create one: npm run cli -- keys create --environment test --scopes wallet,payment',
      );
    });

  addCommand(group, 'rotate [id]', 'create a new key with the same scopes; the old key stays valid for the overlap')
    .example('keys rotate svc_01k5…_key --overlap-hours 24', 'keys rotate --re-encrypt')
    .option('--re-encrypt', 'instead: encrypt all stored secrets with the first of MANILLA_KEYS; can be run again')
    .option('--overlap-hours <hours>', 'how long the old key stays valid', parseHours, OVERLAP_HOURS_DEFAULT)
    .option('--expires-in-days <days>', 'days until the new key expires (required if the old key expires)', DAYS)
    .addOption(organisationOption('the key'))
    .action(async (id: string | undefined, options: RotateOptions) => {
      if ((id === undefined) !== (options.reEncrypt === true)) {
        throw new CommandError('Give the id of an API key, or --re-encrypt.', EXIT.usage);
      }
      if (id === undefined) {
        await reEncryptAll(options);
        return;
      }
      const rotated = await inOrganisation('keys rotate', options, async (sql, organisationId, { proof }) => {
        const old = await requireKey(sql, organisationId, id);
        const status = keyStatus(old);
        if (status !== 'active')
          throw new CommandError(`The key ${id} is ${status}. Create a new one: npm run cli -- keys create`);
        if (old.expiresAt !== null && options.expiresInDays === undefined) {
          // The old key was created with an expiry, or was rotated before: the new key must not silently never expire.
          throw new CommandError(
            `The key ${id} expires at ${old.expiresAt.toISOString()}. Set the expiry of the new key: --expires-in-days DAYS.`,
          );
        }
        const overlapEnd = Date.now() + options.overlapHours * HOUR_MS;
        const oldExpiresAt = new Date(Math.min(overlapEnd, old.expiresAt?.getTime() ?? overlapEnd));
        const created = makeApiKey(organisationId, { ...old, expiresAt: inDays(options.expiresInDays) });
        if (!(await replaceApiKey(sql, old, oldExpiresAt, created.row, proof))) {
          throw new CommandError(
            `The key ${id} was changed at the same time by another command. Check it with \`keys list\`, then retry.`,
          );
        }
        return { ...created, oldExpiresAt };
      });
      const { oldExpiresAt: expiresAt } = rotated;
      const line = `The old key ${id} is valid until ${timeText(expiresAt)} UTC.`;
      printNewKey(options, rotated, { replaces: { id, expiresAt } }, line);
    });

  addCommand(group, 'revoke <id>', 'revoke a key permanently; every process rejects it within 5 seconds')
    .example('keys revoke svc_01k5…_key --reason "found in a log"')
    .option('--reason <text>', 'the reason, recorded in the audit log')
    .addOption(organisationOption('the key'))
    .action(async (id: string, options: OrganisationOptions & { reason?: string }) => {
      const revoked = await inOrganisation('keys revoke', options, async (sql, organisationId, { proof }) => {
        const key = await requireKey(sql, organisationId, id);
        return await revokeApiKey(sql, organisationId, key.id, { proof, reason: options.reason ?? null });
      });
      printResult(
        options,
        { id, revoked: true, ...(revoked > 1 && { madeKeysRevoked: revoked - 1 }) },
        `The key ${id} ${revoked > 0 ? 'is' : 'was already'} revoked.`,
        revoked > 1 && `The ${revoked - 1} keys that it made are revoked too.`,
      );
    });
}

interface CreateOptions extends BookOptions {
  scopes: KeyScope[];
  name?: string;
  expiresInDays?: number;
  allowedIps?: string[];
  rateLimit?: number;
}

interface RotateOptions extends OrganisationOptions {
  overlapHours: number;
  expiresInDays?: number;
  reEncrypt?: true;
}

function parseHours(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 8_760)) {
    throw new InvalidArgumentError('It must be a number of hours, 0 to 8760.');
  }
  return value;
}

const inDays = (days: number | undefined): Date | null =>
  days === undefined ? null : new Date(Date.now() + days * DAY_MS);

function printNewKey(
  options: OrganisationOptions,
  { key, row }: { key: string; row: NewApiKeyRow },
  more: object,
  ...lines: string[]
): void {
  const id = publicId('apiKey', row.id);
  const { scopes, environment, expiresAt } = row;
  const end = expiresAt ? `, until ${timeText(expiresAt)} UTC` : '';
  printResult(
    options,
    { id, key, scopes, environment, ...(expiresAt && { expiresAt }), ...more },
    `Key id  ${id}`,
    `Key     ${key}`,
    `It is valid in ${environment} for ${scopes.join(', ')}${end}.`,
    'Save it now: only its hash is stored, and it cannot be shown again.',
    ...lines,
  );
}

async function requireKey(sql: Sql, organisationId: Uuid, id: string): Promise<ApiKeyRow> {
  const uuid = parseId('apiKey', id);
  const key = uuid === null ? null : await findApiKey(sql, organisationId, uuid);
  if (key === null) throw new CommandError(`There is no key ${id} in this organisation. See: npm run cli -- keys list`);
  return key;
}

/** Unreadable values that a message names. */
const NAMED_MAX = 5;

/**
 * `keys rotate --re-encrypt`: after a new key was put first in MANILLA_KEYS, seals with it what the other keys have
 * sealed, so that they can be removed.
 */
const reEncryptAll = (options: { json?: true }): Promise<void> =>
  withDatabase('application', async (sql, settings) => {
    const [newest, ...older] = keyringOf(settings).keyIds;
    const { proof } = await signIn(sql, settings, 'keys rotate');
    const countLeft = async (): Promise<number> => {
      const counts = await countSealed(sql);
      return [...counts].reduce((sum, [keyId, count]) => sum + (keyId === newest ? 0 : count), 0);
    };
    const progress = (left: number): void => {
      process.stderr.write(`${left} left to encrypt with ${newest}\n`);
    };

    const before = await countLeft();
    let done = 0;
    progress(before);
    await recordReEncryption(sql, proof, newest, before);
    const organisationIds = (await listOrganisations(sql)).map(({ organisationId }) => organisationId);
    const unreadable = await reEncrypt(sql, keyringOf(settings), organisationIds, (count) => {
      done += count;
      progress(before - done);
    });
    if (unreadable.length > 0) {
      const named = unreadable.slice(0, NAMED_MAX).map(({ table, id, error }) => `${table} ${id}: ${error}`);
      throw new CommandError(`${unreadable.length} values cannot be opened, and are left: ${named.join('; ')}`);
    }
    const left = await countLeft();
    if (left > 0) {
      throw new CommandError(
        `${left} values were encrypted with an older key meanwhile: put ${newest} first in every process, then run it again.`,
      );
    }
    printResult(
      options,
      { newestKey: newest, reEncrypted: done, left, removableKeys: older },
      `${done} values were encrypted again; everything is encrypted with ${newest} now.`,
      older.length > 0 &&
        `Remove ${older.join(', ')} from MANILLA_KEYS a week after ${newest} became the first: what they have signed is not accepted any more then.`,
    );
  });
