// Runs inside the workflow's sandbox while `npm run replay` replays a history: notes every command that the code gives,
// with the line that gave it, and stops a debugger where it was asked to.
import { proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { assertInWorkflowContext } from '@temporalio/workflow/lib/global-attributes.js';

/** One command that the code gave. */
export interface NotedCommand {
  /** The number of the last event that the code had heard of. */
  heard: number;
  /** As the SDK names it, for example `startTimer`. */
  kind: string;
  /** Its content: the type of an activity or child, the number of a timer. */
  content: Record<string, unknown>;
  stack: string;
}

export interface ProbeSinks extends Sinks {
  probe: {
    /** The code is told of the history up to this event. */
    hear(event: number): void;
    note(command: NotedCommand): void;
  };
}

/** Memo field of the replayed copy of a history: stop a debugger when the code has heard of this event. */
export const STOP_MEMO = 'replayStopsAt';

const { probe } = proxySinks<ProbeSinks>();

export const interceptors: WorkflowInterceptorsFactory = () => {
  let heard = 0;
  let isNoting = false;
  let hasStopped = false;

  function noteCommands(): void {
    const activator = assertInWorkflowContext('a history is replayed outside of a workflow');
    const push = activator.pushCommand.bind(activator);
    activator.pushCommand = (command, complete) => {
      const [[kind, content] = ['', {}]] = Object.entries(command);
      probe.note({ heard, kind, content: { ...content }, stack: new Error('here').stack ?? '' });
      push(command, complete);
    };
  }

  return {
    internals: [
      {
        activate(input, next) {
          if (!isNoting) noteCommands();
          isNoting = true;
          heard = input.activation.historyLength ?? heard;
          probe.hear(heard);
          const stopAt = assertInWorkflowContext('').info.memo?.[STOP_MEMO];
          if (typeof stopAt === 'number' && heard >= stopAt && !hasStopped) {
            hasStopped = true;
            // biome-ignore lint/suspicious/noDebugger: this is where `--debug` stops; step into `next` from here
            debugger; // oxlint-disable-line no-debugger
          }
          next(input);
        },
      },
    ],
  };
};
