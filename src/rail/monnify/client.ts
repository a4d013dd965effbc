// The credentials of a contract with Monnify, and its dialect.
import { createProviderClient, type ProviderClient } from '../client.ts';
import { callOutcome } from './outcomes.ts';
import { loginBody, replyOf } from './wire.ts';

export interface MonnifyCredentials {
  baseUrl: string;
  apiKey: string;
  secretKey: string;
  contractCode: string;
  /** The account that transfers are paid from. */
  walletAccountNumber: string;
  /** The bank of account numbers of wallets. */
  preferredBank: string;
  /** For the account number of the settlement wallet; empty: it gets none. Secret. */
  bvn?: string;
}

export function createMonnifyClient(
  { baseUrl, apiKey, secretKey }: MonnifyCredentials,
  now: () => number,
): ProviderClient {
  const basic = Buffer.from(`${apiKey}:${secretKey}`).toString('base64');
  return createProviderClient(
    {
      rail: 'monnify',
      baseUrl,
      secrets: [apiKey, secretKey, basic],
      replyOf,
      outcomeOf: callOutcome,
      login: { method: 'POST', route: '/api/v1/auth/login', headers: { authorization: `Basic ${basic}` } },
      readToken: (body) => loginBody.safeParse(body).data ?? null,
      lifeOtherwiseMs: 600_000,
      headersOf: (token) => ({ authorization: `Bearer ${token}` }),
      isTokenRefused: ({ status }) => status === 401,
    },
    now,
  );
}
