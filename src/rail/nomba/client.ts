// The credentials of a contract with Nomba, and its dialect.
import { createProviderClient, type ProviderClient } from '../client.ts';
import { isTokenRefused, mayBeTokenRefused, outcomeOf } from './outcomes.ts';
import { replyOf, tokenData } from './wire.ts';

export interface NombaCredentials {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** The parent account, which holds the money. */
  accountId: string;
  /** Signs callbacks. */
  signatureKey: string;
  /** The name that receivers of transfers see. */
  senderName: string;
}

/** A token cannot have expired this soon after the login: what is refused then is refused for another reason. */
const SURELY_GOOD_MS = 60_000;

export function createNombaClient(credentials: NombaCredentials, now: () => number): ProviderClient {
  const { baseUrl, clientId, clientSecret, accountId, signatureKey } = credentials;
  return createProviderClient(
    {
      rail: 'nomba',
      baseUrl,
      secrets: [clientId, clientSecret, signatureKey],
      replyOf,
      outcomeOf,
      login: {
        method: 'POST',
        route: '/v1/auth/token/issue',
        headers: { accountId },
        body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
      },
      readToken: (body) => {
        const { access_token: text, expiresAt } = tokenData.safeParse(body).data ?? {};
        return text === undefined ? null : { text, lifeMs: expiresAt ? expiresAt.getTime() - now() : null };
      },
      // Half an hour is documented nowhere officially, so less is assumed.
      lifeOtherwiseMs: 300_000,
      headersOf: (token) => ({ accountId, authorization: `Bearer ${token}` }),
      isTokenRefused: (response, sinceLoginMs) =>
        isTokenRefused(response) || (sinceLoginMs >= SURELY_GOOD_MS && mayBeTokenRefused(response)),
    },
    now,
  );
}
