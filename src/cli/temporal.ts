// The command line's connection to Temporal. The client is loaded only by commands that use it, so that others start
// faster.
import type { Client, ConnectionOptions } from '@temporalio/client';
import { CommandError } from './failure.ts';
import { readSettings } from './settings.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 10_000;
/** For long polls: the server responds when an event occurs, and within a minute at the latest. */
const LONG_CALL_TIMEOUT_MS = 70_000;
const LONG_CALLS = /\/(GetWorkflowExecutionHistory|\w*WorkflowExecutionUpdate|UpdateWorkflowExecution|QueryWorkflow)$/;

/**
 * Attempts of a failing call within its deadline. Limited, so that the server's error is reported and not a timeout.
 */
const ATTEMPTS_MAX = 4;

/** gRPC status codes DEADLINE_EXCEEDED and UNAVAILABLE. */
const UNREACHABLE = new Set([4, 14]);

/** Runs `work` with a client of the service's Temporal server. Throws a CommandError when it is unreachable. */
export async function withTemporal<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } = await import('@temporalio/client');
  const { temporalAddress } = readSettings();
  const address = temporalAddress ?? '127.0.0.1:7233';
  const namespace = process.env.TEMPORAL_NAMESPACE || 'default';
  try {
    const connection = await Connection.connect({
      address,
      connectTimeout: CONNECT_TIMEOUT_MS,
      interceptors: [withDeadline, makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: ATTEMPTS_MAX }))],
    });
    const result = await work(new Client({ connection, namespace }));
    await connection.close();
    return result;
    // After a failure the connection stays open: closing it would reject other pending calls, unhandled.
  } catch (error) {
    throw explained(error, address, namespace);
  }
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * Sets a deadline for all attempts of a call together. Without it an unresponsive server blocks the command forever.
 */
const withDeadline: Interceptor = (options, nextCall) => {
  const path = options.method_definition.path;
  const deadline = Date.now() + (LONG_CALLS.test(path) ? LONG_CALL_TIMEOUT_MS : CALL_TIMEOUT_MS);
  // The type requires the InterceptingCall class; gRPC accepts what `nextCall` returns.
  return nextCall({ ...options, deadline: options.deadline ?? deadline }) as ReturnType<Interceptor>;
};

/** Translates an error of Temporal into one that says what to do; returns any other error unchanged. */
function explained(error: unknown, address: string, namespace: string): unknown {
  const causes: (Error & { code?: unknown; details?: unknown })[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause);
  const unreachable = (why: string) =>
    new CommandError(`Temporal is unreachable at ${address} (${why}). Start it, or set TEMPORAL_ADDRESS.`);
  if (causes.some(({ name }) => name === 'NamespaceNotFoundError')) {
    return new CommandError(`Temporal at ${address} has no namespace ${namespace}. Set TEMPORAL_NAMESPACE.`);
  }
  if (causes.some(({ name }) => name === 'WorkflowUpdateRPCTimeoutOrCancelledError'))
    return unreachable('no response in time');
  const status = causes.find(({ code, details }) => typeof code === 'number' && typeof details === 'string');
  if (status !== undefined && UNREACHABLE.has(status.code as number)) return unreachable(String(status.details));
  if (status !== undefined && !(error instanceof CommandError) && !isNoFlow(error)) {
    return new CommandError(
      `Temporal at ${address} rejected the request: ${String(status.details)}. Check --query, or the log of the server.`,
    );
  }
  const unconnected = causes.find(({ message }) => /^Failed to connect|Channel has been shut down/.test(message));
  return unconnected === undefined ? error : unreachable(unconnected.message);
}

/** Whether there is no such flow, or it has ended. */
export const isNoFlow = (error: unknown): boolean => (error as Error | null)?.name === 'WorkflowNotFoundError';

/** The message with which a flow rejected an update; null for any other error. */
export function refusalOf(error: unknown): string | null {
  const refused = error as (Error & { cause?: Error }) | null;
  return refused?.name === 'WorkflowUpdateFailedError' ? (refused.cause?.message ?? refused.message) : null;
}
