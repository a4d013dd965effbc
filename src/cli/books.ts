// The organisation and the book that a command applies to.
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, type IdKind, parseId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import type { Operator } from '../resources/operators.ts';
import { listOrganisations } from '../resources/organisations.ts';
import { withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import type { Settings } from './settings.ts';
import { type SignedCommand, signIn } from './signIn.ts';

/** The options of a command that applies to an organisation. */
export interface OrganisationOptions {
  organisation?: string;
  json?: true;
}

export interface BookOptions extends OrganisationOptions {
  environment: Environment;
}

/** Returns the organisation that a command applies to: the given one, else the quick start's, else the only one. */
async function chooseOrganisation(sql: Sql, settings: Settings, given: string | undefined): Promise<Uuid> {
  const organisations = await listOrganisations(sql);
  const selected = given ?? settings.organisationId;
  const id = parseId('organisation', selected ?? '');
  if (id !== null && organisations.some(({ organisationId }) => organisationId === id)) return id;
  if (given !== undefined) {
    throw new CommandError(`There is no organisation ${given}. See: npm run cli -- organisations list`);
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

/** Runs `work` in the organisation that the command applies to. */
export const ofOrganisation = <Result>(
  { organisation }: OrganisationOptions,
  work: (sql: Sql, organisationId: Uuid) => Promise<Result>,
): Promise<Result> =>
  withDatabase('application', async (sql, settings) =>
    work(sql, await chooseOrganisation(sql, settings, organisation)),
  );

/** As `ofOrganisation`, after signing in. `ofAll`: in the nil organisation, which has what applies to all. */
export const inOrganisation = <Result>(
  command: SignedCommand,
  { organisation }: OrganisationOptions,
  work: (sql: Sql, organisationId: Uuid, operator: Operator) => Promise<Result>,
  ofAll?: true,
): Promise<Result> =>
  withDatabase('application', async (sql, settings) => {
    const operator = await signIn(sql, settings, command);
    const chosen = ofAll ? ALL_ORGANISATIONS : await chooseOrganisation(sql, settings, organisation);
    return await work(sql, chosen, operator);
  });

/** `such`: what kind of id it should be, with an example. */
export function requireId(kind: IdKind, id: string, such: string): Uuid {
  const uuid = parseId(kind, id);
  if (uuid === null) throw new CommandError(`${id} is not ${such}`, EXIT.usage);
  return uuid;
}

export const notInOrganisation = (what: string): CommandError =>
  new CommandError(`There is no ${what} in this organisation. To look in another one, add --organisation ID.`);
