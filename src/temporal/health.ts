// Whether Temporal can start flows. Its front end answers some calls by itself, such as that for its version, also while
// no flow can start; so the check is a call that needs the namespace and the part that keeps the flows.
import { randomUUID } from 'node:crypto';
import { Client, type Connection, WorkflowNotFoundError } from '@temporalio/client';

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
