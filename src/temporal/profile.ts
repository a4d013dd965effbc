// How a process reaches Temporal, in the settings of Temporal's own environment configuration, which its command line
// and SDKs read too: TEMPORAL_* variables and the profiles of a TOML file. Invalid settings are rejected here, because
// the SDK would ignore them and connect without TLS or without a certificate.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TLSConfig } from '@temporalio/client';
import {
  type ClientConfigProfile,
  type ClientConfigTLS,
  type ConfigDataSource,
  loadClientConfigProfile,
  loadConfigData,
} from '@temporalio/envconfig';

/** The variables that select a server and prove who is calling. TEMPORAL_GRPC_META_<NAME> adds headers. */
export const PROFILE_SETTINGS = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_CERT_DATA',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_SERVER_CA_CERT_DATA',
  'TEMPORAL_TLS_SERVER_NAME',
  'TEMPORAL_PROFILE',
  'TEMPORAL_CONFIG_FILE',
] as const;

/** Where the settings name no server and no namespace: those of Temporal's development server. */
export const DEFAULT_ADDRESS = '127.0.0.1:7233';
export const DEFAULT_NAMESPACE = 'default';

/** What a process shows a Temporal server. Never log it. */
export interface Credentials {
  /** Sent with each call, as a bearer token. */
  apiKey?: string;
  /** False: no TLS. True: TLS with the CA certificates of the system and no client certificate. */
  tls: TLSConfig | boolean;
  /** More headers of each call. */
  metadata?: Record<string, string>;
}

export interface TemporalProfile {
  /** Undefined where neither the environment nor the file sets it. */
  address: string | undefined;
  namespace: string | undefined;
  credentials: Credentials;
}

/** A namespace of a Temporal server, and how to be admitted to it. */
export interface TemporalTarget {
  address: string;
  namespace: string;
  /** Reads the credentials again each time: files may have been replaced since. Throws a ProfileError. */
  credentials: () => Credentials;
}

/** Where a process connects, without secrets, for its log. `tls`: `mutual` with a client certificate. */
export function placeOf({ address, namespace, credentials }: TemporalTarget) {
  const { tls, apiKey } = credentials();
  const hasCertificate = typeof tls === 'object' && tls.clientCertPair !== undefined;
  return {
    address,
    namespace,
    tls: tls === false ? 'off' : hasCertificate ? 'mutual' : 'on',
    apiKey: apiKey === undefined ? 'none' : 'set',
  };
}

/** A setting that cannot be used. The message names the setting, and never has a secret in it. */
class ProfileError extends Error {
  override readonly name = 'ProfileError';
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the profile, with the files that it names. Throws a ProfileError. */
export function readProfile(environment: Environment): TemporalProfile {
  // An empty variable counts as unset, as for all other settings: a container file passes those that a user left out.
  const set = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  requireBoolean(set.TEMPORAL_TLS);
  requireHostVerification(set.TEMPORAL_TLS_DISABLE_HOST_VERIFICATION);
  const { address, namespace, apiKey, tls, grpcMeta } = loadProfile(set);
  return {
    address,
    namespace,
    credentials: {
      tls: tls === undefined ? apiKey !== undefined : tlsOf(tls),
      ...(apiKey !== undefined && { apiKey }),
      ...(grpcMeta !== undefined && { metadata: grpcMeta }),
    },
  };
}

/** Any other word would switch TLS off. */
function requireBoolean(tls: string | undefined): void {
  if (tls === undefined || ['true', 'false', '1', '0'].includes(tls)) return;
  throw new ProfileError('TEMPORAL_TLS: neither `true` nor `false`');
}

function requireHostVerification(disabled: string | undefined): void {
  if (disabled === undefined || ['false', '0'].includes(disabled)) return;
  throw new ProfileError(
    'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: the TypeScript SDK always verifies the server. ' +
      "Set TEMPORAL_TLS_SERVER_CA_CERT_PATH to its CA, and TEMPORAL_TLS_SERVER_NAME to a name in the server's certificate",
  );
}

/**
 * The file is read only where a variable names it or one of its profiles: a file in the home directory of the
 * user who starts a process must not decide where its flows run.
 */
function loadProfile(set: Record<string, string>): ClientConfigProfile {
  const { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: profile } = set;
  const configSource = file === undefined ? undefined : { data: readText(file) };
  try {
    return loadClientConfigProfile({
      overrideEnvVars: set,
      disableFile: file === undefined && profile === undefined,
      ...(configSource !== undefined && { configSource }),
    });
  } catch (error) {
    throw new ProfileError(`${file === undefined ? 'TEMPORAL_PROFILE' : 'TEMPORAL_CONFIG_FILE'}: ${reasonOf(error)}`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ProfileError(`TEMPORAL_CONFIG_FILE: ${(error as Error).message}`);
  }
}

/** Not the message of the TOML parser, which quotes lines of the file: one may be the API key. */
function reasonOf(error: unknown): string {
  const { name, message, line, column } = error as Error & { line?: number; column?: number };
  if (line !== undefined) return `not TOML at line ${line}, column ${column}`;
  return name === 'TypeError' ? 'the file has no table `[profile.default]`' : message;
}

function tlsOf(tls: ClientConfigTLS): TLSConfig | boolean {
  if (tls.disabled === true) return false;
  const certificate = pem(tls.clientCert, 'TEMPORAL_TLS_CLIENT_CERT', certificateOf);
  const key = pem(tls.clientKey, 'TEMPORAL_TLS_CLIENT_KEY', createPrivateKey);
  const serverCa = pem(tls.serverCACert, 'TEMPORAL_TLS_SERVER_CA_CERT', certificateOf);
  return {
    ...(tls.serverName !== undefined && { serverNameOverride: tls.serverName }),
    ...(serverCa !== null && { serverRootCACertificate: serverCa.content }),
    ...pairOf(certificate, key),
  };
}

interface Pem<Parsed> {
  setting: string;
  content: Buffer;
  parsed: Parsed;
}

const certificateOf = (content: Buffer): X509Certificate => new X509Certificate(content);

function pem<Parsed>(
  source: ConfigDataSource | undefined,
  name: string,
  parse: (content: Buffer) => Parsed,
): Pem<Parsed> | null {
  if (source === undefined) return null;
  const setting = `${name}_${'path' in source ? 'PATH' : 'DATA'}`;
  const content = contentOf(source, setting);
  try {
    return { setting, content, parsed: parse(content) };
  } catch {
    throw new ProfileError(`${setting}: not PEM, as \`openssl x509\` or \`openssl pkey\` prints it`);
  }
}

function contentOf(source: ConfigDataSource, setting: string): Buffer {
  try {
    return Buffer.from(loadConfigData(source) ?? []);
  } catch (error) {
    throw new ProfileError(`${setting}: ${(error as Error).message}`);
  }
}

/** The SDK would ignore one without the other. While both files are being replaced they may not match for a moment. */
function pairOf(
  certificate: Pem<X509Certificate> | null,
  key: Pem<KeyObject> | null,
): Pick<TLSConfig, 'clientCertPair'> {
  if (certificate === null && key === null) return {};
  if (key === null) throw new ProfileError('TEMPORAL_TLS_CLIENT_KEY_PATH: not set, but the client certificate is');
  if (certificate === null) throw new ProfileError('TEMPORAL_TLS_CLIENT_CERT_PATH: not set, but the client key is');
  if (!certificate.parsed.checkPrivateKey(key.parsed)) {
    throw new ProfileError(`${key.setting}: not the key of the certificate in ${certificate.setting}`);
  }
  return { clientCertPair: { crt: certificate.content, key: key.content } };
}
