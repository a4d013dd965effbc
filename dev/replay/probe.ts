// A workflow interceptor that runs in the workflow sandbox while `npm run replay` replays a history: it reports every
// command that the code issues, with its stack, and stops an attached debugger at the requested event.
import { proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { assertInWorkflowContext } from '@temporalio/workflow/lib/global-attributes.js';

/** A command that the code issued. */
export interface NotedCommand {
  /** The id of the last event that had been delivered to the code. */
  lastEventId: number;
  /** As the SDK names it, for example `startTimer`. */
  kind: string;
  /** Its attributes: the type of an activity or child, the sequence number of a timer. */
  content: Record<string, unknown>;
  stack: string;
}

export interface ProbeSinks extends Sinks {
  probe: {
    /** The history up to this event is delivered to the code. */
    activated(lastEventId: number): void;
    issued(command: NotedCommand): void;
  };
}

/** Memo field of the replayed copy of a history: stop a debugger when this event is delivered to the code. */
export const STOP_MEMO = 'replayStopsAt';

const { probe } = proxySinks<ProbeSinks>();

export const interceptors: WorkflowInterceptorsFactory = () => {
  let lastEventId = 0;
  let isReporting = false;
  let hasStopped = false;

  function reportCommands(): void {
    const activator = assertInWorkflowContext('a history is replayed outside of a workflow');
    const push = activator.pushCommand.bind(activator);
    activator.pushCommand = (command, complete) => {
      const [[kind, content] = ['', {}]] = Object.entries(command);
      probe.issued({ lastEventId, kind, content: { ...content }, stack: new Error('here').stack ?? '' });
      push(command, complete);
    };
  }

  return {
    internals: [
      {
        activate(input, next) {
          if (!isReporting) reportCommands();
          isReporting = true;
          lastEventId = input.activation.historyLength ?? lastEventId;
          probe.activated(lastEventId);
          const stopAt = assertInWorkflowContext('').info.memo?.[STOP_MEMO];
          if (typeof stopAt === 'number' && lastEventId >= stopAt && !hasStopped) {
            hasStopped = true;
            // biome-ignore lint/suspicious/noDebugger: `--debug` stops here; step into `next`
            debugger; // oxlint-disable-line no-debugger
          }
          next(input);
        },
      },
    ],
  };
};
