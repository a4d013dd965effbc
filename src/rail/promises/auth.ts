// Promises about credentials and tokens.
import { RailNotReadyError } from '../errors.ts';
import type { Credentials } from '../provider.ts';
import type { HarnessContract, RailHarness } from './harness.ts';
import { type Finding, fail, fault, notOffered, pass } from './promise.ts';

/** The credentials with another secret; null: the adapter does not declare which field proves who we are. */
function withWrongSecret({ provider, credentials }: HarnessContract): Credentials | null {
  const [name] = Object.entries(provider.credentials.shape).find(([, field]) => field.meta()?.proves === true) ?? [];
  const secret = credentials[name ?? ''];
  if (name === undefined || secret === undefined) return null;
  return { ...credentials, [name]: secret.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')) };
}

export async function login({ rail }: RailHarness): Promise<Finding> {
  await rail.banks();
  return pass('the credentials are accepted');
}

export async function wrongSecret({ contract }: RailHarness): Promise<Finding> {
  const wrong = contract && withWrongSecret(contract);
  if (wrong === null) return notOffered('the adapter does not report which field is the secret');
  const outcome = await contract
    ?.openRail(wrong)
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
      'Ask the provider: anyone who knows the rest of the credentials can use them.',
    );
  return fault(
    'a wrong secret looks like an outage',
    'flows would wait for the provider instead of asking for new credentials',
  );
}

/** Each process of the service has a token of its own. */
export async function refresh(harness: RailHarness): Promise<Finding> {
  const { rail, contract, organisationId, newReference, exchanges, limit } = harness;
  await contract?.openRail().banks();
  const before = exchanges.length;
  await rail.transferStatus({ organisationId, reference: newReference() }, limit());
  return exchanges.slice(before).some(({ status }) => status === 401)
    ? fault('a second login ended the token of the first', 'processes would end the tokens of each other')
    : pass('two tokens are valid at the same time, as two processes need');
}
