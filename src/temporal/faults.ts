// Why Temporal cannot be used, each in one line for the operator: what is wrong, and which setting or command corrects
// it. Without secrets, so that it can be logged and printed.
import type { TemporalTarget } from './profile.ts';

/**
 * `unreachable`: no response, or none in time. `refused`: the server does not accept the credentials. `misconfigured`:
 * the settings do not fit the server, or its namespace is not prepared.
 */
export type FaultKind = 'unreachable' | 'refused' | 'misconfigured';

export class TemporalFault extends Error {
  override readonly name = 'TemporalFault';
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** A search attribute as the server must have it, with the type as the SDK spells it. */
export interface SearchAttribute {
  name: string;
  type: string;
}

type Place = Pick<TemporalTarget, 'address' | 'namespace'>;

export const unreachable = ({ address }: Place, why: string, cause?: unknown): TemporalFault =>
  new TemporalFault(
    'unreachable',
    `Temporal is unreachable at ${address} (${why}). Start it, or set TEMPORAL_ADDRESS.`,
    cause,
  );

export const accessRefused = ({ address, namespace }: Place, why: string, cause?: unknown): TemporalFault =>
  new TemporalFault(
    'refused',
    `Temporal at ${address} refused access to the namespace ${namespace} (${why}). Set TEMPORAL_API_KEY, or the client ` +
      'certificate TEMPORAL_TLS_CLIENT_CERT_PATH with its key, to one that may use TEMPORAL_NAMESPACE.',
    cause,
  );

export const certificateRefused = ({ address }: Place, why: string): TemporalFault =>
  new TemporalFault(
    'refused',
    `Temporal at ${address} refused the client certificate (${why}). Set TEMPORAL_TLS_CLIENT_CERT_PATH and ` +
      'TEMPORAL_TLS_CLIENT_KEY_PATH to one that it trusts and that has not expired.',
  );

export const certificateDemanded = ({ address }: Place, why: string): TemporalFault =>
  new TemporalFault(
    'refused',
    `Temporal at ${address} demands a client certificate (${why}). Set TEMPORAL_TLS_CLIENT_CERT_PATH and ` +
      'TEMPORAL_TLS_CLIENT_KEY_PATH.',
  );

export const serverNotTrusted = ({ address }: Place, why: string): TemporalFault =>
  new TemporalFault(
    'misconfigured',
    `The certificate of Temporal at ${address} is not trusted (${why}). Set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the ` +
      'certificate of the CA that issued it.',
  );

export const serverHasOtherName = ({ address }: Place, name: string): TemporalFault =>
  new TemporalFault(
    'misconfigured',
    `The certificate of Temporal at ${address} is not for ${name}. Set TEMPORAL_TLS_SERVER_NAME to a name in it.`,
  );

export const tlsExpected = ({ address }: Place): TemporalFault =>
  new TemporalFault('misconfigured', `Temporal at ${address} accepts TLS only. Set TEMPORAL_TLS=true.`);

export const tlsNotOffered = ({ address }: Place, why: string): TemporalFault =>
  new TemporalFault(
    'misconfigured',
    `Temporal at ${address} does not respond with TLS (${why}). Set TEMPORAL_ADDRESS to its port for TLS, or ` +
      'TEMPORAL_TLS=false.',
  );

const namespaceMissing = ({ address, namespace }: Place, cause?: unknown): TemporalFault =>
  new TemporalFault(
    'misconfigured',
    `Temporal at ${address} has no namespace ${namespace}. Set TEMPORAL_NAMESPACE, or run: temporal operator namespace ` +
      `create --address ${address} --namespace ${namespace} --retention 30d`,
    cause,
  );

export const searchAttributesMissing = (
  { address, namespace }: Place,
  missing: readonly SearchAttribute[],
): TemporalFault => {
  const options = missing.map(({ name, type }) => `--name ${name} --type ${COMMAND_LINE_TYPES[type] ?? type}`);
  return new TemporalFault(
    'misconfigured',
    `The namespace ${namespace} of Temporal at ${address} lacks search attributes. Run: temporal operator ` +
      `search-attribute create --address ${address} --namespace ${namespace} ${options.join(' ')}`,
  );
};

/** The types as Temporal's command line spells them. */
const COMMAND_LINE_TYPES: Record<string, string> = { KEYWORD: 'Keyword', INT: 'Int', DATETIME: 'Datetime' };

const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** The gRPC status in an error of the SDK or in one of its causes. */
export function grpcStatusOf(error: unknown): { code: number; details: string } | null {
  for (const { code, details } of causesOf(error)) {
    if (typeof code === 'number' && typeof details === 'string') return { code, details };
  }
  return null;
}

/** An error and its causes, outermost first. */
function causesOf(error: unknown): (Error & { code?: unknown; details?: unknown })[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause);
  return causes;
}

/** What a failed call says about the server or the settings; null when it is about the call itself. */
export function faultOfCall(error: unknown, place: Place): TemporalFault | null {
  if (error instanceof TemporalFault) return error;
  if (causesOf(error).some(({ name }) => name === 'NamespaceNotFoundError')) return namespaceMissing(place, error);
  const { code, details = '' } = grpcStatusOf(error) ?? {};
  if (code === NOT_FOUND && /^namespace\b/i.test(details)) return namespaceMissing(place, error);
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) return accessRefused(place, details, error);
  if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED) return unreachable(place, details, error);
  return null;
}
