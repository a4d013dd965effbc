// Starting or waking a flow: the one place that talks to Temporal on behalf of a committed fact. Safe to repeat.
import type { Client } from '@temporalio/client';
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { publicId } from '../ids.ts';
import { type FlowMessage, taskQueueOf } from '../workflows/flows.ts';
import { flowAttributes } from '../workflows/searchAttributes.ts';

/**
 * Starts the flow, or finds that it runs already; a signal reaches it either way. A flow that has ended is started anew
 * for a signal, and then decides by the state in the database, which knows that it ended; or when the message says so.
 */
export async function startFlow(client: Client, taskQueue: string, message: FlowMessage): Promise<void> {
  const { workflow, id, input, summary, signal, allowRestart, queue } = message;
  const options = {
    taskQueue: taskQueueOf(taskQueue, queue),
    workflowId: id,
    args: [input] as [unknown],
    staticSummary: summary,
    typedSearchAttributes: flowAttributes(message, publicId('organisation', input.organisationId)),
  };
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
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error; // it ran and ended: the work is done
  }
}

/** Gives a flow that runs a signal without a payload; one that has ended, or never was, needs none. */
export async function wakeFlow(client: Client, id: string, signal: string): Promise<void> {
  try {
    await client.workflow.getHandle(id).signal(signal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
