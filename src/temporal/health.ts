// Whether Temporal can start flows. Its front end answers some calls by itself, such as that for its version, also while
// no flow can start; so the check is a call that needs the namespace and the part that keeps the flows.
import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';

/**
 * Throws unless the namespace exists and the history shard of a flow answers. It asks about a flow that there is not: to
 * say so, the server must look it up. Another flow, and so as a rule another shard, is asked about each time.
 */
export async function checkFlowsCanStart(connection: Connection, namespace: string, timeoutMs: number): Promise<void> {
  const handle = new Client({ connection, namespace }).workflow.getHandle(`absent-${randomUUID()}`);
  try {
    await connection.withDeadline(Date.now() + timeoutMs, () => handle.describe());
  } catch (error) {
    // A namespace that there is not is another error, though its status is the same.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export interface TemporalHealth {
  /** Throws unless flows can start, within the time limit. */
  check: () => Promise<void>;
  /** Waits for the checks in flight, at most their time limit, and closes the connection. */
  close: () => Promise<void>;
}

/**
 * Checks over a connection of its own, made at the first check. The connection is closed only when no check is in flight: the SDK
 * retries a call from a timer, and a retry on a closed channel throws where nothing can catch it.
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
