// How a process reaches Temporal, in the settings of Temporal's own environment configuration, which its command line
// and SDKs read too: TEMPORAL_* variables and the profiles of a TOML file. Invalid settings are rejected here, because
// the SDK would ignore them and connect without TLS or without a certificate.
import { readFileSync } from 'node:fs';
import type { TLSConfig } from '@temporalio/client';
import { type ClientConfigProfile, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';

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

/** A namespace of a Temporal server, and how to be admitted to it. */
export interface TemporalTarget {
  address: string;
  namespace: string;
  /** Reads the credentials again each time: files may have been replaced since. Throws a ProfileError. */
  credentials: () => Credentials;
}

/** Where a process connects, without secrets, for its log. `tls`: `mutual` with a client certificate. */
export function describeTarget({ address, namespace, credentials }: TemporalTarget) {
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

/**
 * Reads the profile, with the files that it names. `address`, `namespace`: undefined where neither the environment nor
 * the file sets it. Throws a ProfileError.
 */
export function readProfile(environment: Environment) {
  // An empty variable counts as unset, as for all other settings: a container file passes those that a user left out.
  const set = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
  requireBoolean(set.TEMPORAL_TLS);
  const profile = loadProfile(set);
  requireWholePair(profile.tls);
  const { connectionOptions: options, namespace } = naming('TEMPORAL_TLS', () => toClientOptions(profile));
  const credentials: Credentials = {
    tls: options.tls ?? false,
    ...(profile.apiKey !== undefined && { apiKey: profile.apiKey }),
    ...(profile.grpcMeta !== undefined && { metadata: profile.grpcMeta }),
  };
  return { address: options.address, namespace, credentials };
}

/** Any other word would switch TLS off. */
function requireBoolean(tls: string | undefined): void {
  if (tls === undefined || ['true', 'false', '1', '0'].includes(tls)) return;
  throw new ProfileError('TEMPORAL_TLS: neither `true` nor `false`');
}

/** Only where a variable names it or a profile: a file in a user's home must not decide where flows run. */
function loadProfile(set: Record<string, string>): ClientConfigProfile {
  const { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: profile } = set;
  const read = () =>
    loadClientConfigProfile({
      overrideEnvVars: set,
      disableFile: file === undefined && profile === undefined,
      ...(file !== undefined && { configSource: { data: readFileSync(file, 'utf8') } }),
    });
  return naming(file === undefined ? 'TEMPORAL_PROFILE' : 'TEMPORAL_CONFIG_FILE', read, reasonOf);
}

/** Runs `read`. Throws a ProfileError that names the setting. */
function naming<Result>(setting: string, read: () => Result, reason = ({ message }: Error): string => message): Result {
  try {
    return read();
  } catch (error) {
    throw new ProfileError(`${setting}: ${reason(error as Error)}`);
  }
}

/** Not the message of the TOML parser, which quotes lines of the file: one may be the API key. */
function reasonOf({ name, message, line, column }: Error & { line?: number; column?: number }): string {
  if (line !== undefined) return `not TOML at line ${line}, column ${column}`;
  return name === 'TypeError' ? 'the file has no table `[profile.default]`' : message;
}

/** The SDK would ignore one without the other, and connect without a client certificate. */
function requireWholePair(tls: ClientConfigProfile['tls']): void {
  if (tls?.clientCert !== undefined && tls.clientKey === undefined) {
    throw new ProfileError('TEMPORAL_TLS_CLIENT_KEY_PATH: not set, but the client certificate is');
  }
  if (tls?.clientKey !== undefined && tls.clientCert === undefined) {
    throw new ProfileError('TEMPORAL_TLS_CLIENT_CERT_PATH: not set, but the client key is');
  }
}
