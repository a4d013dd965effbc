// Health check of Temporal: whether it can start workflows. Its frontend serves some calls alone, such as the one for
// its version, even while no workflow can start. The check is therefore a call that needs the namespace and the history
// service.
import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';

/**
 * Throws unless the namespace exists and a history shard responds. It describes a workflow that does not exist, which
 * the server can report only after a lookup in history. The id is random, so each check usually reaches another shard.
 */
export async function checkFlowsCanStart(connection: Connection, namespace: string, timeoutMs: number): Promise<void> {
  const handle = new Client({ connection, namespace }).workflow.getHandle(`absent-${randomUUID()}`);
  try {
    await connection.withDeadline(Date.now() + timeoutMs, () => handle.describe());
  } catch (error) {
    // A missing namespace has the same gRPC status but is a different error class.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export interface TemporalHealth {
  /** Throws unless workflows can start; bounded by the time limit. */
  check: () => Promise<void>;
  /** Waits for the checks in flight, at most for their time limit, and closes the connection. */
  close: () => Promise<void>;
}

/**
 * Checks over a connection of its own, opened by the first check. The connection is closed only when no check is in
 * flight: the SDK retries a call from a timer, and a retry on a closed channel throws outside of any try block.
 */
export function createTemporalHealth(address: string, namespace: string, timeoutMs: number): TemporalHealth {
  const connection = Connection.lazy({ address });
  const inFlight = new Set<Promise<void>>();
  return {
    check: async () => {
      const call = checkFlowsCanStart(connection, namespace, timeoutMs);
      inFlight.add(call);
      try {
        await call;
      } finally {
        inFlight.delete(call);
      }
    },
    close: async () => {
      await Promise.allSettled(inFlight);
      await connection.close();
    },
  };
}
