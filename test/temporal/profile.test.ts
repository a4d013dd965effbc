// The settings of the connection to Temporal: from variables and from the profiles of a file, each invalid one rejected
// with its name and without a secret.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { generate } from 'selfsigned';
import { readProfile } from '../../src/temporal/profile.ts';

let folder: string;
const fileOf = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'manilla-profile-'));
  const one = await generate([{ name: 'commonName', value: 'one' }], { keyType: 'ec', algorithm: 'sha256' });
  const files = {
    'one.pem': one.cert,
    'one.key': one.private,
    'broken.toml': '[profile.default]\napi_key = "very-secret',
    'empty.toml': '',
    'temporal.toml': `
      [profile.default]
      address = "default:7233"
      [profile.cloud]
      address = "cloud:7233"
      namespace = "payments.a2dd6"
      api_key = "secret"
      [profile.cloud.grpc_meta]
      region = "west"
      [profile.local]
      address = "local:7233"
      api_key = "secret"
      [profile.local.tls]
      disabled = true`,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(fileOf(name), text)));
});

afterAll(() => rm(folder, { recursive: true }));

/** Reads the profile of these settings; `@name` is a file of the folder. */
const read = (settings: Record<string, string>) =>
  readProfile(
    Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [name, value.startsWith('@') ? fileOf(value.slice(1)) : value]),
    ),
  );

test.each<[string, Record<string, string>, object]>([
  ['nothing is set', {}, { address: undefined, credentials: { tls: false } }],
  ['an API key switches TLS on', { TEMPORAL_API_KEY: 'k' }, { credentials: { apiKey: 'k', tls: true } }],
  [
    'an API key without TLS',
    { TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'false' },
    { credentials: { apiKey: 'k', tls: false } },
  ],
  ['the default profile', { TEMPORAL_CONFIG_FILE: '@temporal.toml' }, { address: 'default:7233' }],
  [
    'a named profile',
    { TEMPORAL_CONFIG_FILE: '@temporal.toml', TEMPORAL_PROFILE: 'cloud' },
    {
      address: 'cloud:7233',
      namespace: 'payments.a2dd6',
      credentials: { apiKey: 'secret', tls: true, metadata: { region: 'west' } },
    },
  ],
  [
    'a profile without TLS',
    { TEMPORAL_CONFIG_FILE: '@temporal.toml', TEMPORAL_PROFILE: 'local' },
    { address: 'local:7233', credentials: { apiKey: 'secret', tls: false } },
  ],
  [
    'a variable overrides the profile',
    { TEMPORAL_CONFIG_FILE: '@temporal.toml', TEMPORAL_PROFILE: 'cloud', TEMPORAL_NAMESPACE: 'other' },
    { address: 'cloud:7233', namespace: 'other' },
  ],
  [
    'a client certificate',
    { TEMPORAL_TLS_CLIENT_CERT_PATH: '@one.pem', TEMPORAL_TLS_CLIENT_KEY_PATH: '@one.key' },
    { credentials: { tls: { clientCertPair: expect.anything() } } },
  ],
])('%s', (_, settings, profile) => {
  expect(read(settings)).toMatchObject(profile);
});

test.each<[string, Record<string, string>, RegExp]>([
  ['neither true nor false', { TEMPORAL_TLS: 'yes' }, /^TEMPORAL_TLS: /],
  ['a file that is missing', { TEMPORAL_CONFIG_FILE: '@absent.toml' }, /^TEMPORAL_CONFIG_FILE: ENOENT/],
  ['a file that is not TOML', { TEMPORAL_CONFIG_FILE: '@broken.toml' }, /^TEMPORAL_CONFIG_FILE: not TOML at line 2/],
  ['a file without profiles', { TEMPORAL_CONFIG_FILE: '@empty.toml' }, /no table `\[profile\.default\]`/],
  [
    'a profile that is missing',
    { TEMPORAL_CONFIG_FILE: '@temporal.toml', TEMPORAL_PROFILE: 'absent' },
    /^TEMPORAL_CONFIG_FILE: .*absent/,
  ],
  ['a certificate without its key', { TEMPORAL_TLS_CLIENT_CERT_PATH: '@one.pem' }, /^TEMPORAL_TLS_CLIENT_KEY_PATH: /],
  ['a key without its certificate', { TEMPORAL_TLS_CLIENT_KEY_PATH: '@one.key' }, /^TEMPORAL_TLS_CLIENT_CERT_PATH: /],
  ['a certificate that is missing', { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '@absent.pem' }, /^TEMPORAL_TLS: ENOENT/],
])('rejected: %s', (_, settings, message) => {
  expect(() => read(settings)).toThrow(message);
  expect(() => read(settings)).not.toThrow(/very-secret|PRIVATE/);
});
