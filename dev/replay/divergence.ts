// Finds where the code diverges from a recorded history: within the workflow task that failed to replay, the first
// event for which the code issued another command, or none.
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { NotedCommand } from './probe.ts';

/** An event in the format of `historyToJSON`. */
interface RecordedEvent {
  eventId: string;
  eventType: string;
  [attributes: string]: unknown;
}

interface Attributes {
  workflowTaskCompletedEventId?: string;
  startedEventId?: string;
  activityType?: { name: string };
  workflowType?: { name: string };
  timerId?: string;
}

export interface Divergence {
  /** The id of the event; null when the code issues a command for which the history has no event. */
  eventId: number | null;
  /** For example `ActivityTaskScheduled sendBankTransfer`. */
  recorded: string;
  /** For example `startTimer`. */
  produced: string;
  /** The stack frames of the command in the project's code, innermost first: `/…/src/a.ts:12:5`. */
  lines: string[];
}

/** The event that each command adds to a history. Other commands add none, or none that is compared. */
const EVENT_OF_COMMAND: Record<string, string> = {
  scheduleActivity: 'ActivityTaskScheduled',
  requestCancelActivity: 'ActivityTaskCancelRequested',
  startTimer: 'TimerStarted',
  cancelTimer: 'TimerCanceled',
  startChildWorkflowExecution: 'StartChildWorkflowExecutionInitiated',
  signalExternalWorkflowExecution: 'SignalExternalWorkflowExecutionInitiated',
  requestCancelExternalWorkflowExecution: 'RequestCancelExternalWorkflowExecutionInitiated',
  upsertWorkflowSearchAttributes: 'UpsertWorkflowSearchAttributes',
  modifyWorkflowProperties: 'WorkflowPropertiesModified',
  completeWorkflowExecution: 'WorkflowExecutionCompleted',
  failWorkflowExecution: 'WorkflowExecutionFailed',
  cancelWorkflowExecution: 'WorkflowExecutionCanceled',
  continueAsNewWorkflowExecution: 'WorkflowExecutionContinuedAsNew',
};
const COMPARED_EVENTS = new Set(Object.values(EVENT_OF_COMMAND));

/** The search attribute that `patched` upserts besides its marker. */
const PATCH_ATTRIBUTE = 'TemporalChangeVersion';

/** The events of a history. */
export class Recording {
  readonly #events: RecordedEvent[];

  constructor(history: History) {
    this.#events = (JSON.parse(historyToJSON(history)) as { events: RecordedEvent[] }).events;
  }

  get length(): number {
    return this.#events.length;
  }

  /** Describes the event with this id, for example `ActivityTaskScheduled sendBankTransfer`. */
  describe(eventId: number): string {
    const event = this.#events[eventId - 1];
    return event === undefined ? 'nothing' : describe(event);
  }

  /**
   * Returns the id of the WorkflowTaskStarted event of the workflow task in which the code issues the command of this
   * event, or in which the event is delivered to the code.
   */
  taskStartOf(eventId: number): number {
    const completed = this.#attributes(eventId).workflowTaskCompletedEventId;
    if (completed !== undefined) return Number(this.#attributes(Number(completed)).startedEventId);
    const start = this.#events.find(
      (event) => Number(event.eventId) >= eventId && nameOf(event) === 'WorkflowTaskStarted',
    );
    return Number(start?.eventId ?? this.length);
  }

  /**
   * Compares the commands of the workflow task that starts with this event with the recorded events. Returns null when
   * there is no difference.
   */
  compare(taskStart: number, commands: readonly NotedCommand[]): Divergence | null {
    const produced = withoutCancelledTimers(
      commands.filter(({ lastEventId, kind }) => lastEventId === taskStart && kind in EVENT_OF_COMMAND),
    );
    const recorded = this.#events.filter((event) => {
      const completed = attributesOf(event).workflowTaskCompletedEventId;
      return completed !== undefined && this.taskStartOf(Number(event.eventId)) === taskStart && isCompared(event);
    });
    for (let position = 0; position < Math.max(produced.length, recorded.length); position += 1) {
      const [event, command] = [recorded[position], produced[position]];
      if (event !== undefined && command !== undefined && matches(event, command)) continue;
      return {
        eventId: event === undefined ? null : Number(event.eventId),
        recorded: event === undefined ? 'nothing more' : describe(event),
        produced: command === undefined ? 'nothing more' : `${command.kind} ${subjectOf(command.content)}`.trimEnd(),
        lines: command === undefined ? [] : projectFrames(command.stack),
      };
    }
    return null;
  }

  #attributes(eventId: number): Attributes {
    const event = this.#events[eventId - 1];
    return event === undefined ? {} : attributesOf(event);
  }
}

/** `EVENT_TYPE_TIMER_STARTED` → `TimerStarted`. */
function nameOf({ eventType }: RecordedEvent): string {
  return eventType
    .replace('EVENT_TYPE_', '')
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

function attributesOf(event: RecordedEvent): Attributes {
  const [, attributes] = Object.entries(event).find(([key]) => key.endsWith('EventAttributes')) ?? [];
  return attributes ?? {};
}

function describe(event: RecordedEvent): string {
  return `${nameOf(event)} ${subjectOf({ ...attributesOf(event) })}`.trimEnd();
}

/** The type of the activity or child, or the name of the signal, of an event or a command. */
function subjectOf(content: Record<string, unknown>): string {
  const type = content.activityType ?? content.workflowType ?? content.signalName ?? '';
  return typeof type === 'string' ? type : ((type as { name?: string }).name ?? '');
}

function isCompared(event: RecordedEvent): boolean {
  return COMPARED_EVENTS.has(nameOf(event)) && !JSON.stringify(event).includes(PATCH_ATTRIBUTE);
}

function matches(event: RecordedEvent, command: NotedCommand): boolean {
  if (EVENT_OF_COMMAND[command.kind] !== nameOf(event)) return false;
  const subject = subjectOf(command.content);
  return subject === '' || subject === subjectOf({ ...attributesOf(event) });
}

/** Drops timers that are started and cancelled in the same workflow task: they add no events. */
function withoutCancelledTimers(commands: readonly NotedCommand[]): NotedCommand[] {
  const has = (kind: string, seq: unknown) =>
    commands.some((command) => command.kind === kind && command.content.seq === seq);
  return commands.filter(
    ({ kind, content: { seq } }) =>
      !(kind === 'startTimer' && has('cancelTimer', seq)) && !(kind === 'cancelTimer' && has('startTimer', seq)),
  );
}

/**
 * The stack frames in the project's code, as positions. Function names are omitted: they are the bundle's and mislead.
 */
function projectFrames(stack: string): string[] {
  const positions = [...stack.matchAll(/^\s*at .*?\(?(\/[^()\s]+:\d+:\d+)\)?$/gm)].map(([, position = '']) => position);
  return positions.filter(
    (position) =>
      position.includes('/src/') && !/node_modules|replay\/probe|workflows\/activitySummaries/.test(position),
  );
}
