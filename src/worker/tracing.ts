// Traces on the way through a worker: into the headers of the flows that it starts, out of those of the activities that it
// runs, and what its workflows tell of themselves (src/workflows/traces.ts). Used only when traces are on.
import { fileURLToPath } from 'node:url';
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptors, InjectedSinks } from '@temporalio/worker';
import { currentTraceparent, inSpan, recordSpan } from '../telemetry/tracing.ts';
import { readTrace, withTrace } from '../workflows/traceHeader.ts';
import type { TraceSinks } from '../workflows/traces.ts';

/** What a bundle of workflows is built with beside the workflows themselves. */
export const TRACED_WORKFLOWS = fileURLToPath(new URL('../workflows/traces.ts', import.meta.url));

/** For a client that starts flows: what it starts or signals belongs to the span in progress. */
export const traceOfClient: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next({ ...input, headers: withTrace(input.headers, currentTraceparent()) }),
  signalWithStart: (input, next) => next({ ...input, headers: withTrace(input.headers, currentTraceparent()) }),
};

/** An attempt of an activity, under the span of its flow. A flow without a trace has activities without one. */
export function traceOfActivity({ info }: Context): ActivityInterceptors {
  const { workflowExecution, activityType, activityId, attempt } = info;
  const attributes = { ...identity(workflowExecution), temporalActivityID: activityId, 'temporal.attempt': attempt };
  return {
    inbound: {
      execute: (input, next) => {
        const parent = readTrace(input.headers);
        if (parent === undefined) return next(input);
        return inSpan(`RunActivity:${activityType}`, { kind: 'internal', parent, attributes }, () => next(input));
      },
    },
  };
}

/** Spans of the workflows themselves, told when they are over. */
export const traceSinks: InjectedSinks<TraceSinks> = {
  traces: {
    flowEnded: {
      fn: ({ workflowType, workflowId, runId }, { own, ...flow }) =>
        recordSpan({
          name: `RunWorkflow:${workflowType}`,
          kind: 'internal',
          spanId: spanIdOf(own),
          attributes: identity({ workflowId, runId }),
          ...flow,
        }),
    },
    signalled: {
      fn: ({ workflowId, runId }, { name, own, at, sender }) =>
        recordSpan({
          name: `HandleSignal:${name}`,
          kind: 'internal',
          parent: own,
          startedAt: at,
          endedAt: at,
          attributes: identity({ workflowId, runId }),
          ...(sender !== undefined && { links: [sender] }),
        }),
    },
  },
};

const spanIdOf = (traceparent: string): string => traceparent.split('-')[2] ?? '';

/** By the names that Temporal's own interceptors give them. */
function identity(execution: { workflowId: string; runId: string } | undefined) {
  return { temporalWorkflowID: execution?.workflowId, temporalRunID: execution?.runId };
}
