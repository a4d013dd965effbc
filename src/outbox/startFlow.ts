// Starts and signals workflows for committed outbox messages. Idempotent.
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import {
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { publicId } from '../ids.ts';
import { type FlowMessage, taskQueueOf } from '../workflows/flows.ts';
import { priorityOf } from '../workflows/priority.ts';
import { flowAttributes } from '../workflows/searchAttributes.ts';

/**
 * Starts the flow, or finds it running; a signal in the message is delivered in both cases. A flow that has ended is
 * restarted only when the message has a signal or sets `allowRestart`. The new run decides by the state in the
 * database, which records that the resource ended.
 */
export async function startFlow(client: Client, taskQueue: string, message: FlowMessage): Promise<void> {
  const { workflow, signal, allowRestart } = message;
  const options = optionsOf(taskQueue, message);
  if (signal !== undefined) {
    await client.workflow.signalWithStart(workflow, {
      ...options,
      signal: signal.name,
      signalArgs: [signal.payload],
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    });
    return;
  }
  try {
    await client.workflow.start(workflow, {
      ...options,
      workflowIdReusePolicy: allowRestart
        ? WorkflowIdReusePolicy.ALLOW_DUPLICATE
        : WorkflowIdReusePolicy.REJECT_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    });
  } catch (error) {
    // Already started, and that run has ended: the work is done.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Sends an update to a flow, and starts the flow with it if none is running. Returns the result of the update. */
export async function updateFlow<Result>(
  client: Client,
  taskQueue: string,
  message: FlowMessage,
  { name, args }: { name: string; args: [unknown] },
): Promise<Result> {
  const startWorkflowOperation = new WithStartWorkflowOperation(message.workflow, {
    ...optionsOf(taskQueue, message),
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
  });
  return await client.workflow.executeUpdateWithStart<Workflow, Result, [unknown]>(name, {
    args,
    startWorkflowOperation,
  });
}

function optionsOf(taskQueue: string, message: FlowMessage) {
  const { id, input, summary, queue } = message;
  const organisationId = input.organisationId === undefined ? null : publicId('organisation', input.organisationId);
  return {
    taskQueue: taskQueueOf(taskQueue, queue),
    workflowId: id,
    args: [input] as [unknown],
    staticSummary: summary,
    priority: priorityOf(message, { environment: input.environment, organisationId }),
    typedSearchAttributes: flowAttributes(message, organisationId),
  };
}

/** Sends a signal without a payload to a running flow. Does nothing when the flow has ended or never existed. */
export async function wakeFlow(client: Client, id: string, signal: string): Promise<void> {
  try {
    await client.workflow.getHandle(id).signal(signal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
