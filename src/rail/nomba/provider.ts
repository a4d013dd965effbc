// What a contract with Nomba needs, and how its rail is made.
import { z } from 'zod';
import { isBaseUrl } from '../http.ts';
import type { RailProvider } from '../provider.ts';
import type { NombaCredentials } from './client.ts';
import { CAPABILITIES, createNombaRail } from './rail.ts';

const shown = { secret: false };

const credentials = z.object({
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

export const nomba: RailProvider = {
  name: 'nomba',
  version: '1',
  capabilities: CAPABILITIES,
  credentials,
  isSandbox: ({ baseUrl }) => baseUrl === 'https://sandbox.nomba.com',
  open: (contract) => createNombaRail(contract.credentials as unknown as NombaCredentials),
};
