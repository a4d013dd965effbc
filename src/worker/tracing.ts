// Trace propagation in a worker: into the headers of the flows that it starts, from the headers of the activities that
// it runs, and spans of the workflows themselves (src/workflows/traces.ts). Used only when traces are on.
import { fileURLToPath } from 'node:url';
import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptors, InjectedSinks } from '@temporalio/worker';
import { currentTraceparent, inSpan, recordSpan } from '../telemetry/tracing.ts';
import { readTrace, withTrace } from '../workflows/traceHeader.ts';
import type { TraceSinks } from '../workflows/traces.ts';

/** The interceptor module that is bundled with the workflows. */
export const TRACED_WORKFLOWS = fileURLToPath(new URL('../workflows/traces.ts', import.meta.url));

/** Client interceptor: a flow that is started or signalled becomes a child of the current span. */
export const traceOfClient: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next({ ...input, headers: withTrace(input.headers, currentTraceparent()) }),
  signalWithStart: (input, next) => next({ ...input, headers: withTrace(input.headers, currentTraceparent()) }),
};

/** A span per activity attempt, as a child of its flow's span. Activities of a flow without a trace have no span. */
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

/** Receives the spans of the workflows themselves, when they end. */
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

/** The attribute names are those of Temporal's own OpenTelemetry interceptors. */
function identity(execution: { workflowId: string; runId: string } | undefined) {
  return { temporalWorkflowID: execution?.workflowId, temporalRunID: execution?.runId };
}
