// What the service requires of a namespace: it exists, its history service responds, and it has the search attributes.
// Checked with calls that every role of Temporal may make: the operator service is closed to Temporal Cloud's clients.
import { randomUUID } from 'node:crypto';
import { Client, type ConnectionLike, WorkflowNotFoundError } from '@temporalio/client';
import { grpcStatusOf, type SearchAttribute, searchAttributesMissing } from './faults.ts';
import type { TemporalTarget } from './profile.ts';

/** gRPC status of a query that names an attribute which the namespace does not have, or has with another type. */
const INVALID_ARGUMENT = 3;

/** For each type, a value that no flow has: the query then reads nothing but an index. */
const ABSENT: Record<string, string> = { KEYWORD: "'absent'", INT: '-1', DATETIME: "'1970-01-01T00:00:00Z'" };

/**
 * Throws unless the namespace exists and a history shard responds. It describes a workflow that does not exist, which
 * the server can report only after a lookup in history: its frontend serves some calls alone, such as the one for its
 * version, even while no workflow can start. The id is random, so each check usually reaches another shard.
 */
export async function requireFlowsCanStart(
  connection: ConnectionLike,
  namespace: string,
  timeoutMs: number,
): Promise<void> {
  const handle = new Client({ connection, namespace }).workflow.getHandle(`absent-${randomUUID()}`);
  try {
    await connection.withDeadline(Date.now() + timeoutMs, () => handle.describe());
  } catch (error) {
    // A missing namespace has the same gRPC status but is a different error class.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/**
 * Throws a TemporalFault that names the search attributes which the namespace lacks. Returns whether it has all of
 * them; false when the visibility store does not respond, which is no reason not to run flows.
 */
export async function requireSearchAttributes(
  connection: ConnectionLike,
  target: TemporalTarget,
  wanted: readonly SearchAttribute[],
  timeoutMs: number,
): Promise<boolean> {
  const { namespace } = target;
  const accepts = async ({ name, type }: SearchAttribute): Promise<boolean | null> => {
    try {
      await connection.workflowService.countWorkflowExecutions({ namespace, query: `${name} = ${ABSENT[type]}` });
      return true;
    } catch (error) {
      return grpcStatusOf(error)?.code === INVALID_ARGUMENT ? false : null;
    }
  };
  const found = await connection.withDeadline(Date.now() + timeoutMs, () => Promise.all(wanted.map(accepts)));
  const missing = wanted.filter((_, index) => found[index] === false);
  if (missing.length > 0) throw searchAttributesMissing(target, missing);
  return found.every((one) => one === true);
}
