// The command line's connection to Temporal. Commands that need no client do not load it: they start faster.
import { randomUUID } from 'node:crypto';
import type { Client, ConnectionOptions } from '@temporalio/client';
import type { TemporalTarget } from '../temporal/profile.ts';
import { taskQueueOf } from '../workflows/flows.ts';
import { CommandError } from './failure.ts';
import { printResult } from './print.ts';
import { readSettings } from './settings.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 10_000;
/** For long polls: the server responds when an event occurs, and within a minute at the latest. */
const LONG_CALL_TIMEOUT_MS = 70_000;
const LONG_CALLS = /\/(GetWorkflowExecutionHistory|\w*WorkflowExecutionUpdate|UpdateWorkflowExecution|QueryWorkflow)$/;

/** Attempts of a failing call within its deadline. Limited, so that the server's error is reported. */
const ATTEMPTS_MAX = 4;

/** Runs `work` with a client of the service's Temporal server. Throws a TemporalFault when it cannot be used. */
export async function withTemporal<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } = await import('@temporalio/client');
  const { connect } = await import('../temporal/connect.ts');
  const { DEFAULT_ADDRESS, DEFAULT_NAMESPACE, readProfile } = await import('../temporal/profile.ts');
  const { dataConverterOf, readPayloadKeys } = await import('../temporal/dataConverter.ts');
  const { temporalAddress } = readSettings();
  const dataConverter = dataConverterOf(readPayloadKeys(process.env));
  const profile = readProfile(process.env);
  const address = profile.address ?? temporalAddress ?? DEFAULT_ADDRESS;
  const namespace = profile.namespace ?? DEFAULT_NAMESPACE;
  const target = { address, namespace, credentials: () => profile.credentials };
  try {
    const connection = await connect(Connection, target, {
      connectTimeout: CONNECT_TIMEOUT_MS,
      interceptors: [withDeadline, makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: ATTEMPTS_MAX }))],
    });
    const result = await work(new Client({ connection, namespace, dataConverter }));
    await connection.close();
    return result;
    // After a failure the connection stays open: closing it would reject other pending calls, unhandled.
  } catch (error) {
    throw await explained(error, target);
  }
}

export const flowsQueue = (): string => process.env.TEMPORAL_TASK_QUEUE || 'manilla';

/** Runs a flow of maintenance now, on a worker. */
export const runMaintenance = <Result>(workflow: string, input: unknown): Promise<Result> =>
  withTemporal(
    async (client): Promise<Result> =>
      await client.workflow.execute(workflow, {
        taskQueue: taskQueueOf(flowsQueue(), 'maintenance'),
        workflowId: `${workflow}-${randomUUID()}`,
        args: [input],
      }),
  );

/** An update of a flow, which decides something. */
export interface Update {
  name: string;
  args: [unknown];
}

/** What a flow answers to a decision. */
interface Answer {
  outcome: string;
  message: string;
}

/**
 * Has a flow decide, and prints its answer. Throws a CommandError when the flow refuses; or, with `missing`, when it is
 * not running and `restart` does not start it with the update.
 */
export async function sendDecision(
  options: { json?: true },
  id: string,
  update: Update,
  missing: string,
  restart: (client: Client) => Promise<Answer | null> = () => Promise.resolve(null),
): Promise<void> {
  const answer = await withTemporal((client) =>
    client.workflow
      .getHandle(id)
      .executeUpdate<Answer, [unknown]>(update.name, { args: update.args })
      .catch((error: unknown) => (isNoFlow(error) ? restart(client) : Promise.reject(error)))
      .catch(refusalOf),
  );
  if (answer === null) throw new CommandError(missing);
  if (answer.outcome === 'refused') throw new CommandError(answer.message);
  printResult(options, { id, ...answer }, answer.message);
}

/** The refusal of an update that the flow did not accept. Throws any other error. */
function refusalOf(error: unknown): Answer {
  const { name, message, cause } = error as Error & { cause?: Error };
  if (name !== 'WorkflowUpdateFailedError') throw error;
  return { outcome: 'refused', message: cause?.message ?? message };
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** A deadline for all attempts of a call together: an unresponsive server would block the command forever. */
const withDeadline: Interceptor = (options, nextCall) => {
  const path = options.method_definition.path;
  const deadline = Date.now() + (LONG_CALLS.test(path) ? LONG_CALL_TIMEOUT_MS : CALL_TIMEOUT_MS);
  // The type requires the InterceptingCall class; gRPC accepts what `nextCall` returns.
  return nextCall({ ...options, deadline: options.deadline ?? deadline }) as ReturnType<Interceptor>;
};

/** Translates an error of Temporal into one that says what to do; returns any other error unchanged. */
async function explained(error: unknown, target: TemporalTarget): Promise<unknown> {
  if (error instanceof CommandError || isNoFlow(error)) return error;
  const { faultOfCall, faultOfConnection, grpcStatusOf } = await import('../temporal/faults.ts');
  const fault = faultOfCall(error, target);
  if (fault !== null) return fault;
  const { name, message } = error as Error;
  if (name === 'WorkflowUpdateRPCTimeoutOrCancelledError' || message.includes('Channel has been shut down')) {
    return faultOfConnection(error, target);
  }
  const status = grpcStatusOf(error);
  if (status === null) return error;
  return new CommandError(
    `Temporal at ${target.address} rejected the request: ${status.details}. Check --query, or the log of the server.`,
  );
}

/** Whether there is no such flow, or it has ended. */
const isNoFlow = (error: unknown): boolean => (error as Error | null)?.name === 'WorkflowNotFoundError';

/** As the call; null: there is no such flow, or it has ended. */
export const nullIfNoFlow = <Result>(call: Promise<Result>): Promise<Result | null> =>
  call.catch((error: unknown) => (isNoFlow(error) ? null : Promise.reject(error)));
