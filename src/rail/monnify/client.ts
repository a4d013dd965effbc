// The credentials of a contract with Monnify, and its dialect.
import { z } from 'zod';
import { createProviderClient, type ProviderClient } from '../client.ts';
import { isBaseUrl } from '../http.ts';
import { callOutcome } from './outcomes.ts';
import { loginBody, replyOf } from './wire.ts';

const shown = { secret: false };

export const monnifyCredentials = z.object({
  baseUrl: z
    .string()
    .default('https://api.monnify.com')
    .refine(isBaseUrl, 'must be an https:// URL without a path')
    .describe('The address of Monnify: https://api.monnify.com, or https://sandbox.monnify.com')
    .meta(shown),
  apiKey: z.string().min(8).describe('The API key (Developer > API keys)'),
  secretKey: z.string().min(8).describe('The secret key (Developer > API keys)').meta({ proves: true }),
  contractCode: z
    .string()
    .regex(/^[0-9]{6,20}$/)
    .describe('The contract code (Developer > Contracts)')
    .meta(shown),
  walletAccountNumber: z
    .string()
    .regex(/^[0-9]{10}$/)
    .describe('The account number of the wallet that transfers are paid from (Transfers)')
    .meta(shown),
  preferredBank: z
    .string()
    .regex(/^[0-9]{3,6}$/)
    .default('50515')
    .describe('The code of the bank of account numbers for wallets')
    .meta(shown),
  bvn: z
    .string()
    .regex(/^(?:[0-9]{11})?$/)
    .default('')
    .describe('The BVN of a director, for the account number of the settlement wallet; empty: it gets none'),
});

export type MonnifyCredentials = z.infer<typeof monnifyCredentials>;

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
      token: loginBody,
      lifeOtherwiseMs: 600_000,
      headersOf: (token) => ({ authorization: `Bearer ${token}` }),
      isTokenRefused: ({ status }) => status === 401,
    },
    now,
  );
}
