// The workflow interceptors that a worker installs when tracing is on. A flow that was started within a trace passes
// the trace on to its activities and child workflows, and reports its own span to the worker when it ends. The
// interceptors use no random numbers, timers or commands, so a flow replays the same with and without them.
import { ApplicationFailure } from '@temporalio/common';
import {
  ContinueAsNew,
  proxySinks,
  type Sinks,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { readTrace, withTrace } from './traceHeader.ts';

/** The sinks that the worker implements. Times are milliseconds since 1970; spans are given as W3C traceparents. */
export interface TraceSinks extends Sinks {
  traces: {
    /** `own`: the flow's span, which is the parent of its activities; `parent`: the span that started it. */
    flowEnded: (flow: { parent: string; own: string; startedAt: number; endedAt: number; failure?: string }) => void;
    /** `sender`: the span in which the signal was sent, if known. */
    signalled: (signal: { name: string; own: string; at: number; sender?: string }) => void;
  };
}

const { traces } = proxySinks<TraceSinks>();

export const interceptors: WorkflowInterceptorsFactory = () => {
  let own: string | undefined;
  return {
    inbound: [
      {
        async execute(input, next) {
          const parent = readTrace(input.headers);
          if (parent === undefined) return await next(input);
          own = spanOfRun(parent, workflowInfo().runId);
          const flow = { parent, own, startedAt: Date.now() };
          try {
            const result = await next(input);
            traces.flowEnded({ ...flow, endedAt: Date.now() });
            return result;
          } catch (error) {
            const failed = error instanceof ContinueAsNew ? {} : { failure: nameOf(error) };
            traces.flowEnded({ ...flow, endedAt: Date.now(), ...failed });
            throw error;
          }
        },
        async handleSignal(input, next) {
          const sender = readTrace(input.headers);
          const { signalName: name } = input;
          if (own !== undefined) traces.signalled({ name, own, at: Date.now(), ...(sender && { sender }) });
          await next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next({ ...input, headers: withTrace(input.headers, own) }),
        startChildWorkflowExecution: (input, next) => next({ ...input, headers: withTrace(input.headers, own) }),
        continueAsNew: (input, next) => next({ ...input, headers: withTrace(input.headers, own) }),
      },
    ],
  };
};

/**
 * The span of a run, in the trace that started it. The span id is the last 16 hex digits of the run id, which Temporal
 * draws at random once: every worker that replays the run computes the same span id.
 */
function spanOfRun(parent: string, runId: string): string {
  const [version, traceId, , flags] = parent.split('-');
  return [version, traceId, runId.replaceAll('-', '').slice(-16), flags].join('-');
}

function nameOf(error: unknown): string {
  if (error instanceof ApplicationFailure && error.type) return error.type;
  return error instanceof Error ? error.name : 'unknown';
}
