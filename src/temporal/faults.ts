// Why Temporal cannot be used, each in one line for the operator: the reason as the SDK or the server gives it, and
// which setting or command to look at. Without secrets, so that it can be logged and printed.
import type { Log } from '../telemetry/log.ts';
import { describeTarget, type TemporalTarget } from './profile.ts';

/**
 * `unreachable`: no response, none in time, or no TLS connection. `refused`: the server does not accept the
 * credentials. `misconfigured`: its namespace is not prepared.
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

type Namespace = Pick<TemporalTarget, 'address' | 'namespace'>;

const refused = ({ address, namespace }: Namespace, reason: string, cause: unknown): TemporalFault =>
  new TemporalFault(
    'refused',
    `Temporal at ${address} refused access to the namespace ${namespace} (${reason}). Set TEMPORAL_API_KEY, or the ` +
      'client certificate TEMPORAL_TLS_CLIENT_CERT_PATH with its key, to one that may use TEMPORAL_NAMESPACE.',
    cause,
  );

const namespaceMissing = ({ address, namespace }: Namespace, cause: unknown): TemporalFault =>
  new TemporalFault(
    'misconfigured',
    `Temporal at ${address} has no namespace ${namespace}. Set TEMPORAL_NAMESPACE, or run: temporal operator namespace ` +
      `create --address ${address} --namespace ${namespace} --retention 30d`,
    cause,
  );

export const searchAttributesMissing = (
  { address, namespace }: Namespace,
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

/** How the SDK's core words a refusal of the first call, when a worker connects: without a status. */
const CORE_REFUSALS = /valid authentication credentials|does not have permission/;

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

/** The fault of the server or of the settings behind a failed call; null when the call itself is at fault. */
export function faultOfCall(error: unknown, target: Namespace): TemporalFault | null {
  if (error instanceof TemporalFault) return error;
  if (causesOf(error).some(({ name }) => name === 'NamespaceNotFoundError')) return namespaceMissing(target, error);
  const { code, details = '' } = grpcStatusOf(error) ?? {};
  if (code === NOT_FOUND && /^namespace\b/i.test(details)) return namespaceMissing(target, error);
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) return refused(target, details, error);
  if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED) return unreachable(target, error, details);
  return null;
}

/** The fault behind a failed connection, or behind a failed call that must succeed. */
export function faultOfConnection(error: unknown, target: Namespace): TemporalFault {
  const { message } = error as Error;
  if (CORE_REFUSALS.test(message)) return refused(target, 'the credentials were not accepted', error);
  return faultOfCall(error, target) ?? unreachable(target, error);
}

function unreachable({ address }: Namespace, error: unknown, reason = (error as Error).message): TemporalFault {
  return new TemporalFault(
    'unreachable',
    `Temporal is unreachable at ${address} (${reason}). Start it, or check TEMPORAL_ADDRESS, TEMPORAL_TLS and the ` +
      'certificates that TEMPORAL_TLS_* name.',
    error,
  );
}

/** Logs where the process is connected or why Temporal cannot be used, once for each change. */
export function faultLog(log: Log): (state: TemporalTarget | TemporalFault) => void {
  let last: string | null = null;
  return (state) => {
    const isFault = state instanceof TemporalFault;
    const key = !isFault ? 'connected' : state.kind === 'unreachable' ? state.kind : state.message;
    if (key === last) return;
    last = key;
    if (!isFault) log.info({ temporal: describeTarget(state) }, 'connected to Temporal');
    else log[state.kind === 'unreachable' ? 'warn' : 'error']({ temporal: state.kind }, state.message);
  };
}
