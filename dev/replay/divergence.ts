// Where a recorded history and today's code part: of the workflow task that did not fit, the first event for which the
// code gave another command, or none.
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { NotedCommand } from './probe.ts';

/** An event as `historyToJSON` has it. */
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
  /** The number of the event; null when the code gives a command that the history has nothing for. */
  eventId: number | null;
  /** For example `ActivityTaskScheduled sendWithdrawal`. */
  recorded: string;
  /** For example `startTimer`. */
  given: string;
  /** The places in our code that gave the command, innermost first: `/…/src/a.ts:12:5`. */
  lines: string[];
}

/** The event that each command leaves in a history. Commands that are not here leave none, or none that is compared. */
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

/** What `patched` writes beside its marker, so that flows can be found by it. */
const PATCH_ATTRIBUTE = 'TemporalChangeVersion';

/** The events of a history, in short. */
export class Recording {
  readonly #events: RecordedEvent[];

  constructor(history: History) {
    this.#events = (JSON.parse(historyToJSON(history)) as { events: RecordedEvent[] }).events;
  }

  get length(): number {
    return this.#events.length;
  }

  /** `ActivityTaskScheduled sendWithdrawal`, for the event with this number. */
  describe(eventId: number): string {
    const event = this.#events[eventId - 1];
    return event === undefined ? 'nothing' : describe(event);
  }

  /**
   * The event up to which the code has heard when it gives the command that left this event, or hears of it: the start
   * of a workflow task.
   */
  heardAt(eventId: number): number {
    const completed = this.#attributes(eventId).workflowTaskCompletedEventId;
    if (completed !== undefined) return Number(this.#attributes(Number(completed)).startedEventId);
    const start = this.#events.find(
      (event) => Number(event.eventId) >= eventId && nameOf(event) === 'WorkflowTaskStarted',
    );
    return Number(start?.eventId ?? this.length);
  }

  /** Compares what the code gave after it had heard of this event with what is recorded. Null: no difference there. */
  compare(heard: number, noted: readonly NotedCommand[]): Divergence | null {
    const given = withoutUndone(noted.filter((command) => command.heard === heard && command.kind in EVENT_OF_COMMAND));
    const recorded = this.#events.filter((event) => {
      const completed = attributesOf(event).workflowTaskCompletedEventId;
      return completed !== undefined && this.heardAt(Number(event.eventId)) === heard && isCompared(event);
    });
    for (let place = 0; place < Math.max(given.length, recorded.length); place += 1) {
      const [event, command] = [recorded[place], given[place]];
      if (event !== undefined && command !== undefined && fits(event, command)) continue;
      return {
        eventId: event === undefined ? null : Number(event.eventId),
        recorded: event === undefined ? 'nothing more' : describe(event),
        given: command === undefined ? 'nothing more' : `${command.kind} ${subjectOf(command.content)}`.trimEnd(),
        lines: command === undefined ? [] : ourLines(command.stack),
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

/** What an event or a command is about: an activity or child by its type. */
function subjectOf(content: Record<string, unknown>): string {
  const type = content.activityType ?? content.workflowType ?? content.signalName ?? '';
  return typeof type === 'string' ? type : ((type as { name?: string }).name ?? '');
}

function isCompared(event: RecordedEvent): boolean {
  return COMPARED_EVENTS.has(nameOf(event)) && !JSON.stringify(event).includes(PATCH_ATTRIBUTE);
}

function fits(event: RecordedEvent, command: NotedCommand): boolean {
  if (EVENT_OF_COMMAND[command.kind] !== nameOf(event)) return false;
  const subject = subjectOf(command.content);
  return subject === '' || subject === subjectOf({ ...attributesOf(event) });
}

/** A timer that is started and cancelled at once leaves nothing. */
function withoutUndone(commands: readonly NotedCommand[]): NotedCommand[] {
  const has = (kind: string, seq: unknown) => commands.some((one) => one.kind === kind && one.content.seq === seq);
  return commands.filter(
    ({ kind, content: { seq } }) =>
      !(kind === 'startTimer' && has('cancelTimer', seq)) && !(kind === 'cancelTimer' && has('startTimer', seq)),
  );
}

/** The places of a stack that lie in our own code. The names in it are of the bundle and mislead, so they are left out. */
function ourLines(stack: string): string[] {
  const places = [...stack.matchAll(/^\s*at .*?\(?(\/[^()\s]+:\d+:\d+)\)?$/gm)].map(([, place = '']) => place);
  return places.filter((place) => place.includes('/src/') && !/node_modules|replayProbe/.test(place));
}
