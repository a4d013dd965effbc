// The actions that Temporal Cloud bills (https://docs.temporal.io/cloud/actions), counted in the history of a flow.

const KINDS = ['starts', 'activities', 'signals', 'timers', 'search attributes', 'updates'] as const;

type Kind = (typeof KINDS)[number];

/** The parts of a history event that show an action, as Temporal's API and its JSON have them. */
interface RecordedEvent {
  workflowExecutionStartedEventAttributes?: {
    parentWorkflowExecution?: object | null;
    continuedExecutionRunId?: string | null;
    /** In JSON a text such as `1916.5s`. */
    firstWorkflowTaskBackoff?: string | object | null;
  } | null;
  workflowExecutionContinuedAsNewEventAttributes?: object | null;
  startChildWorkflowExecutionFailedEventAttributes?: object | null;
  activityTaskStartedEventAttributes?: { attempt?: number | null } | null;
  workflowExecutionSignaledEventAttributes?: object | null;
  timerStartedEventAttributes?: object | null;
  upsertWorkflowSearchAttributesEventAttributes?: object | null;
  workflowExecutionUpdateAcceptedEventAttributes?: object | null;
}

/** The start of a child is one action for its parent's request and one for the child. */
const CHILD_START = 2;

/** Counts the actions that the events of one run show. */
export function countActions(events: readonly RecordedEvent[]): Record<Kind, number> {
  const actions = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;
  for (const [index, event] of events.entries()) {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) actions.starts += startActions(started, events[index + 1]);
    // The next run's start, counted here.
    if (event.workflowExecutionContinuedAsNewEventAttributes) actions.starts += 1;
    // A request that failed has no history of a child.
    if (event.startChildWorkflowExecutionFailedEventAttributes) actions.starts += CHILD_START;
    // Failed attempts of an activity have no events; the last attempt's event has the attempt number.
    actions.activities += event.activityTaskStartedEventAttributes?.attempt ?? 0;
    if (event.workflowExecutionSignaledEventAttributes) actions.signals += 1;
    if (event.timerStartedEventAttributes) actions.timers += 1;
    if (event.upsertWorkflowSearchAttributesEventAttributes) actions['search attributes'] += 1;
    if (event.workflowExecutionUpdateAcceptedEventAttributes) actions.updates += 1;
  }
  return actions;
}

function startActions(
  {
    parentWorkflowExecution,
    continuedExecutionRunId,
  }: NonNullable<RecordedEvent['workflowExecutionStartedEventAttributes']>,
  next: RecordedEvent | undefined,
): number {
  if (continuedExecutionRunId) return 0; // counted in the run before
  if (parentWorkflowExecution) return CHILD_START;
  return next?.workflowExecutionSignaledEventAttributes ? 0 : 1; // signal-with-start is one action, a signal
}
