// The release of the service that a stack starts with: this one, or for the drill of an upgrade an earlier one, in a
// folder of its own. What differs between releases is called as its processes and its command line, never as functions.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sql } from '../../src/database/pool.ts';
import { parseId } from '../../src/ids.ts';
import { runCommand } from './operators.ts';
import { createParticipants, type Participants } from './participants.ts';
import { type Application, isWorker } from './plan.ts';

/** The folder of this release. */
export const THIS_RELEASE = fileURLToPath(new URL('../..', import.meta.url));

const API_SCOPES = 'wallet,payment,transfer,payout,webhook';

export const mainOf = (release: string, part: Application): string =>
  path.join(release, 'src', isWorker(part) ? 'worker' : 'api', 'main.ts');

/** Runs a command of a release's command line, and returns its JSON. */
export async function runIn<Output>(
  release: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Output> {
  const { output, failure } = await runCommand(words, env, path.join(release, 'src/cli/main.ts'));
  if (failure !== null) throw new Error(`${words.join(' ')}, in ${release}: ${failure}`);
  return output as Output;
}

/** A stack, as far as what its release makes needs it. */
interface Running {
  release: string;
  sql: Sql;
  /** The environment of the command line. */
  settings: NodeJS.ProcessEnv;
}

/** The organisation, its key and an operator of a run, as the release makes them. */
export async function enterRelease({ release, sql, settings }: Running): Promise<Participants> {
  if (release === THIS_RELEASE) return await createParticipants(sql, { name: 'Chaos', operators: ['chaos'] });
  const scopes = ['--scopes', 'view,support,finance,admin'];
  const operator = await runIn<{ key: string }>(release, ['operators', 'create', 'chaos', ...scopes], settings);
  const env = { ...settings, MANILLA_OPERATOR_KEY: operator.key };
  const named = ['--name', 'Chaos', '--email', 'ops@test.example'];
  const organisation = await runIn<{ organisationId: string }>(release, ['organisations', 'create', ...named], env);
  const ofKey = ['--environment', 'test', '--scopes', API_SCOPES, '--organisation', organisation.organisationId];
  const { key } = await runIn<{ key: string }>(release, ['keys', 'create', ...ofKey], env);
  const organisationId = parseId('organisation', organisation.organisationId);
  if (organisationId === null) throw new Error(`${organisation.organisationId} is not the id of an organisation`);
  return { organisationId, apiKey: key, operatorKeys: [operator.key] };
}
