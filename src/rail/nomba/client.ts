// The credentials of a contract with Nomba, and its dialect.
import { z } from 'zod';
import { createProviderClient, type ProviderClient } from '../client.ts';
import { isBaseUrl } from '../http.ts';
import { isTokenRefused, outcomeOf } from './outcomes.ts';
import { replyOf, tokenData } from './wire.ts';

const shown = { secret: false };

export const nombaCredentials = z.object({
  baseUrl: z
    .string()
    .default('https://api.nomba.com')
    .refine(isBaseUrl, 'must be an https:// URL without a path')
    .describe('The address of Nomba: https://api.nomba.com, or https://sandbox.nomba.com')
    .meta(shown),
  clientId: z.string().min(8).describe('The client id (Developer > API keys)'),
  clientSecret: z.string().min(8).describe('The private key (Developer > API keys)').meta({ proves: true }),
  accountId: z.uuid().describe('The id of the parent account').meta(shown),
  signatureKey: z.string().min(8).describe('The signature key of webhooks (Developer > Webhook setup)'),
  senderName: z.string().min(3).max(50).describe('The name that receivers of transfers see').meta(shown),
});

export type NombaCredentials = z.infer<typeof nombaCredentials>;

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
      token: tokenData.transform(({ access_token: text, expiresAt }) => ({
        text,
        lifeMs: expiresAt && expiresAt.getTime() - now(),
      })),
      // Half an hour is documented nowhere officially, so less is assumed.
      lifeOtherwiseMs: 300_000,
      headersOf: (token) => ({ accountId, authorization: `Bearer ${token}` }),
      isTokenRefused,
    },
    now,
  );
}
