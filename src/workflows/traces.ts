// The interceptors that a worker adds to its workflows when traces are on. A flow that was started within a trace passes it
// on to its activities and children, and tells the worker of itself when it ends. It makes no random number, no timer and
// no command, so a flow goes the same way with and without them.
import { ApplicationFailure } from '@temporalio/common';
import {
  ContinueAsNew,
  proxySinks,
  type Sinks,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { readTrace, withTrace } from './traceHeader.ts';

/** What the worker is told. Times are milliseconds since 1970; a `traceparent` names a span. */
export interface TraceSinks extends Sinks {
  traces: {
    /** `own`: what the flow's activities have been told is above them; `parent`: what started it. */
    flowEnded: (flow: { parent: string; own: string; startedAt: number; endedAt: number; failure?: string }) => void;
    /** `sender`: what the signal was sent in, where that is known. */
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
 * The span of a run, in the trace of whoever started it. Its id is the end of the run's id, which Temporal draws at random
 * once: so every worker that replays the run knows it by the same one.
 */
function spanOfRun(parent: string, runId: string): string {
  const [version, traceId, , flags] = parent.split('-');
  return [version, traceId, runId.replaceAll('-', '').slice(-16), flags].join('-');
}

function nameOf(error: unknown): string {
  if (error instanceof ApplicationFailure && error.type) return error.type;
  return error instanceof Error ? error.name : 'unknown';
}
