// What a contract with Monnify needs, and how its rail is made.
import { z } from 'zod';
import { isBaseUrl } from '../http.ts';
import type { RailProvider } from '../provider.ts';
import type { MonnifyCredentials } from './client.ts';
import { CAPABILITIES, createMonnifyRail } from './rail.ts';

const shown = { secret: false };

const credentials = z.object({
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

export const monnify: RailProvider = {
  name: 'monnify',
  version: '1',
  capabilities: CAPABILITIES,
  credentials,
  isSandbox: ({ baseUrl }) => baseUrl === 'https://sandbox.monnify.com',
  open: (contract) => createMonnifyRail(contract.credentials as unknown as MonnifyCredentials),
};
