// Checks of credentials and tokens.
import { RailNotReadyError } from '../errors.ts';
import type { Credentials, RailProvider } from '../provider.ts';
import type { CheckBench } from './bench.ts';
import { type Finding, fail, notOffered, pass, type RailCheck, warn } from './check.ts';
import { tokenLifeMs } from './unmappedFields.ts';

/** An adapter renews a token a minute before it expires. */
const LIFE_MIN_MS = 120_000;

/** The credentials with another secret; null: the adapter does not declare which field proves who we are. */
function withWrongSecret({ credentials: { shape } }: RailProvider, credentials: Credentials): Credentials | null {
  const [name] = Object.entries(shape).find(([, field]) => field.meta()?.proves === true) ?? [];
  const secret = credentials[name ?? ''];
  if (name === undefined || secret === undefined) return null;
  return { ...credentials, [name]: secret.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')) };
}

async function login({ rail }: CheckBench): Promise<Finding> {
  await rail.banks();
  return pass('the credentials are accepted');
}

async function wrongSecret({ provider, credentials, openRail }: CheckBench): Promise<Finding> {
  const wrong = withWrongSecret(provider, credentials);
  if (wrong === null) return notOffered('the adapter does not tell which field is the secret');
  const outcome = await openRail(wrong)
    .banks()
    .then(
      () => null,
      (error: unknown) => error,
    );
  if (outcome instanceof RailNotReadyError && outcome.why === 'unauthorised')
    return pass('a wrong secret is distinguished from an outage');
  if (outcome === null)
    return fail(
      'a wrong secret is accepted',
      'Ask the provider: anybody who knows the rest of the credentials can use them.',
    );
  return fail(
    'a wrong secret looks like an outage',
    'Report this with the stored exchanges: flows would wait for the provider instead of asking for new credentials.',
  );
}

/** Each process of the service has a token of its own. */
async function refresh({
  rail,
  openRail,
  organisationId,
  newReference,
  exchanges,
  limit,
  now,
}: CheckBench): Promise<Finding> {
  const start = exchanges.length;
  await openRail().banks();
  const lifeMs = tokenLifeMs(exchanges.slice(start), now());
  const before = exchanges.length;
  await rail.transferStatus({ organisationId, reference: newReference() }, limit());
  const isRefused = exchanges.slice(before).some(({ status }) => status === 401);
  if (isRefused)
    return fail(
      'a second login ended the token of the first',
      'Report this with the stored exchanges: processes would end the tokens of each other.',
    );
  const text = 'two tokens are valid at the same time, as two processes need';
  if (lifeMs === null) return pass(`${text}; the life of a token is not told`);
  const life = lifeMs < LIFE_MIN_MS ? `${Math.round(lifeMs / 1_000)} s` : `${Math.round(lifeMs / 60_000)} minutes`;
  return lifeMs >= LIFE_MIN_MS
    ? pass(`${text}; a token lives ${life}`)
    : warn(`${text}; a token lives ${life} only`, 'Ask the provider for longer ones: nearly every call logs in.');
}

export const authChecks: readonly RailCheck[] = [
  { id: 'auth.login', after: [], run: login },
  { id: 'auth.wrong_secret', after: ['auth.login'], run: wrongSecret },
  { id: 'auth.refresh', after: ['auth.login'], run: refresh },
];
