// The registry of providers: what `rail connect` and the warnings about charges need of each of them.
import { describe, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { PROVIDERS, providerNamed } from '../../src/rail/providers.ts';

const EXAMPLES: Record<string, Record<string, string>> = {
  monnify: {
    apiKey: 'MK_TEST_4KFAKE0KEY',
    secretKey: '91MUDL9N6U3BQRXBQ2PJ9M0PW4J22M1Y',
    contractCode: '5867418298',
    walletAccountNumber: '8016472829',
  },
  nomba: {
    clientId: 'c6d4f0de-6a5d-4cf0-9d3e-aaaa00000001',
    clientSecret: 'a secret of Nomba',
    accountId: '890022ce-bae0-45c1-9b9d-ee7872e6ca27',
    signatureKey: 'a signature key',
    senderName: 'Manilla',
  },
};

const contractOf = (name: string, more: Record<string, string> = {}) => ({ ...EXAMPLES[name], ...more });

describe.each(PROVIDERS.map((provider) => [provider.name, provider] as const))('%s', (name, provider) => {
  test('has a short name, a version, and capabilities that are JSON', () => {
    expect(name).toMatch(/^[a-z]{3,20}$/);
    expect(providerNamed(name)).toBe(provider);
    expect(JSON.parse(JSON.stringify(provider.capabilities))).toEqual(provider.capabilities);
  });

  test('describes each of its credentials, and goes to the live address by default', () => {
    for (const field of Object.values(provider.credentials.shape)) expect(field.meta()?.description).toMatch(/\w/);
    const parsed = provider.credentials.parse(contractOf(name));
    expect(parsed.baseUrl).toBe(`https://api.${name}.com`);
    const shown = Object.entries(provider.credentials.shape).filter(([, field]) => field.meta()?.secret === false);
    expect(shown.map(([field]) => field)).not.toEqual(expect.arrayContaining([expect.stringMatching(/secret|key/i)]));
  });

  test.each(['http://api.example.com', 'https://user:password@api.example.com', 'https://api.example.com/x', ''])(
    'sends credentials to no such address: %j',
    (baseUrl) => expect(provider.credentials.safeParse(contractOf(name, { baseUrl })).success).toBe(false),
  );

  test('makes the rail of a contract without input or output', async () => {
    const credentials = provider.credentials.parse(contractOf(name, { baseUrl: 'http://127.0.0.1:1' }));
    const contract = { id: newUuid(), organisationId: newUuid(), environment: 'live' as const, credentials };
    const rail = provider.open(contract);
    expect([rail.name, rail.capabilities]).toEqual([name, provider.capabilities]);
    await expect(rail.banks()).rejects.toMatchObject({ name: 'RailUnavailableError' });
  });
});
