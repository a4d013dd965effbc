// The command line's connection to Temporal. The client is loaded by the commands that need it: the others start faster.
import type { Client, ConnectionOptions } from '@temporalio/client';
import { CommandError } from './failure.ts';
import { readSettings } from './settings.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 10_000;
/** For calls that the server answers when something has happened, and in any case within a minute. */
const LONG_CALL_TIMEOUT_MS = 70_000;
const LONG_CALLS = /\/(GetWorkflowExecutionHistory|\w*WorkflowExecutionUpdate|UpdateWorkflowExecution|QueryWorkflow)$/;

/** Of a call that fails, within its time; so that a server that is in trouble is told by the reason it gives. */
const TRIES_MAX = 4;

/** Status codes of gRPC: DEADLINE_EXCEEDED and UNAVAILABLE. */
const NO_ANSWER = new Set([4, 14]);

/** Runs `work` with a client of the Temporal server that the service uses. Throws a CommandFailure when it is away. */
export async function withTemporal<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } = await import('@temporalio/client');
  const { temporalAddress } = readSettings();
  const address = temporalAddress ?? '127.0.0.1:7233';
  const namespace = process.env.TEMPORAL_NAMESPACE || 'default';
  try {
    const connection = await Connection.connect({
      address,
      connectTimeout: CONNECT_TIMEOUT_MS,
      interceptors: [withDeadline, makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: TRIES_MAX }))],
    });
    const result = await work(new Client({ connection, namespace }));
    await connection.close();
    return result;
    // After a failure it stays open: other calls may be under way, which would fail once more, and nobody to catch it.
  } catch (error) {
    throw explained(error, address, namespace);
  }
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** All tries of a call together take no longer than this. Without it a server that is silent is waited for for ever. */
const withDeadline: Interceptor = (options, nextCall) => {
  const path = options.method_definition.path;
  const deadline = Date.now() + (LONG_CALLS.test(path) ? LONG_CALL_TIMEOUT_MS : CALL_TIMEOUT_MS);
  // The types want the class; gRPC itself asks for no more than what the next in line returns.
  return nextCall({ ...options, deadline: options.deadline ?? deadline }) as ReturnType<Interceptor>;
};

/** What a person at the terminal can do about it; an error that is not Temporal's comes back as it is. */
function explained(error: unknown, address: string, namespace: string): unknown {
  const causes: (Error & { code?: unknown; details?: unknown })[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause);
  const away = (why: string) =>
    new CommandError(`Temporal does not answer at ${address} (${why}). Start it, or set TEMPORAL_ADDRESS.`);
  if (causes.some(({ name }) => name === 'NamespaceNotFoundError')) {
    return new CommandError(`Temporal at ${address} has no namespace ${namespace}. Set TEMPORAL_NAMESPACE.`);
  }
  if (causes.some(({ name }) => name === 'WorkflowUpdateRPCTimeoutOrCancelledError')) return away('no answer in time');
  const status = causes.find(({ code, details }) => typeof code === 'number' && typeof details === 'string');
  if (status !== undefined && NO_ANSWER.has(status.code as number)) return away(String(status.details));
  if (status !== undefined && !(error instanceof CommandError) && !isNoFlow(error)) {
    return new CommandError(`Temporal at ${address} refused: ${String(status.details)}`);
  }
  const unconnected = causes.find(({ message }) => /^Failed to connect|Channel has been shut down/.test(message));
  return unconnected === undefined ? error : away(unconnected.message);
}

/** Whether there is no such flow, or it has ended. */
export const isNoFlow = (error: unknown): boolean => (error as Error | null)?.name === 'WorkflowNotFoundError';

/** The words in which a flow refused an update; null for any other error. */
export function refusalOf(error: unknown): string | null {
  const refused = error as (Error & { cause?: Error }) | null;
  return refused?.name === 'WorkflowUpdateFailedError' ? (refused.cause?.message ?? refused.message) : null;
}
