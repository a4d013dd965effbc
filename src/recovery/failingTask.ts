// Which task of an open flow does not get done: it fails again and again, or no worker takes or ends it. From
// Temporal's description of the flow, and the end of its history. Pure.
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';

type Description = Pick<WorkflowExecutionDescription['raw'], 'pendingActivities' | 'pendingWorkflowTask'>;
type PendingActivity = NonNullable<Description['pendingActivities']>[number];
type Event = NonNullable<History['events']>[number];
type Time = Event['eventTime'];
export type Failure = PendingActivity['lastFailure'];

export interface FailingTask {
  task: 'activity' | 'workflow_task';
  /** The activity's type; null for a workflow task. */
  activity: string | null;
  /** `stalled`: it is not done, and has not failed either. */
  problem: 'failing' | 'stalled';
  attempt: number;
  since: Date;
  /** Of the last attempt. Null or undefined: no worker responded in time. */
  failure: Failure;
  /** Of a stalled task: whether a worker has taken it. */
  isTaken: boolean;
}

export interface FailingLimits {
  activityFailingMs: number;
  workflowTaskFailingMs: number;
  taskStalledMs: number;
}

/** A task that timed out once, by the end of a worker for example, is at its second attempt. */
export const ATTEMPTS_MIN = 3;

/** temporal.api.enums.v1.PendingActivityState and PendingWorkflowTaskState: the same values. */
const SCHEDULED = 1;
const STARTED = 2;
/** temporal.api.enums.v1.TimeoutType */
const SCHEDULE_TO_START = 2;

/** Whether the description alone shows a task that may not get done, so that its history is worth a look. */
export function isSuspect(
  { pendingActivities, pendingWorkflowTask }: Description,
  limits: FailingLimits,
  now: Date,
): boolean {
  const isStalled = (since: Date | null): boolean => isOver(since, limits.taskStalledMs, now);
  return (
    (pendingWorkflowTask?.attempt ?? 0) > 1 ||
    isStalled(dateOf(pendingWorkflowTask?.scheduledTime)) ||
    (pendingActivities ?? []).some((pending) => isFailing(pending) || isStalled(idleSince(pending)))
  );
}

/** Also with a failure that is expected for a while (`BENIGN`). */
const isFailing = ({ attempt }: PendingActivity): boolean => (attempt ?? 0) >= ATTEMPTS_MIN;

/**
 * Since when nothing has happened to an activity: it is due and no worker has taken it, or one has and has not even
 * sent a heartbeat. One that sends heartbeats may take hours; when they stop, its timeout makes it fail.
 */
function idleSince({ state, scheduledTime, lastStartedTime, lastHeartbeatTime }: PendingActivity): Date | null {
  if (state === SCHEDULED) return dateOf(scheduledTime);
  return state === STARTED && lastHeartbeatTime == null ? dateOf(lastStartedTime) : null;
}

/** The task that is not done for longer than its limit; `events` are the last of the history, the latest first. */
export function failingTask(
  description: Description,
  events: readonly Event[],
  limits: FailingLimits,
  now: Date,
): FailingTask | null {
  const limitMs = { activity: limits.activityFailingMs, workflow_task: limits.workflowTaskFailingMs };
  const found = [workflowTask(description, events), ...activities(description, events)];
  const isDue = ({ problem, task, since }: FailingTask): boolean =>
    isOver(since, problem === 'stalled' ? limits.taskStalledMs : limitMs[task], now);
  return found.filter((task) => task !== null).find(isDue) ?? null;
}

function workflowTask({ pendingWorkflowTask: pending }: Description, events: readonly Event[]): FailingTask | null {
  if (!pending) return null;
  // Only the first failed attempt is an event, until a signal comes.
  const ended = events.findIndex((event) => event.workflowTaskCompletedEventAttributes != null);
  const failed = (ended === -1 ? events : events.slice(0, ended)).filter(isFailedAttempt);
  const attempt = pending.attempt ?? 1;
  const task = { task: 'workflow_task' as const, activity: null, attempt, isTaken: pending.state === STARTED };
  if (attempt > 1 || failed.length > 0) {
    // Not among the last events: it failed before them.
    const since = dateOf((failed.at(-1) ?? events.at(-1))?.eventTime);
    const failure = failed[0]?.workflowTaskFailedEventAttributes?.failure;
    return since && { ...task, problem: 'failing', since, failure };
  }
  const since = dateOf(pending.scheduledTime);
  return since && { ...task, problem: 'stalled', since, failure: null };
}

/** A task that the worker with the flow in its cache did not take was not attempted: it is given to another one. */
function isFailedAttempt({
  workflowTaskFailedEventAttributes: failed,
  workflowTaskTimedOutEventAttributes: timedOut,
}: Event) {
  return failed != null || (timedOut != null && timedOut.timeoutType !== SCHEDULE_TO_START);
}

function activities({ pendingActivities }: Description, events: readonly Event[]): FailingTask[] {
  return (pendingActivities ?? []).flatMap((pending) => {
    const scheduled = events.find(
      ({ activityTaskScheduledEventAttributes: of }) => of != null && of.activityId === pending.activityId,
    );
    const task = {
      task: 'activity' as const,
      activity: pending.activityType?.name ?? '',
      attempt: pending.attempt ?? 1,
      failure: pending.lastFailure,
      isTaken: pending.state === STARTED,
    };
    // Not among the last events: scheduled before them.
    const failingSince = isFailing(pending) ? dateOf((scheduled ?? events.at(-1))?.eventTime) : null;
    const stalledSince = idleSince(pending);
    return [
      ...(failingSince === null ? [] : [{ ...task, problem: 'failing' as const, since: failingSince }]),
      ...(stalledSince === null ? [] : [{ ...task, problem: 'stalled' as const, since: stalledSince }]),
    ];
  });
}

/** The last error, or what is missing, in one line. */
export function textOf({ problem, isTaken, failure }: Pick<FailingTask, 'problem' | 'isTaken' | 'failure'>): string {
  if (problem === 'stalled') return isTaken ? 'a worker has taken it and not ended it' : 'no worker has taken it';
  if (failure == null) return 'no response of a worker in time';
  const type = failure.applicationFailureInfo?.type;
  const [message = ''] = (failure.message ?? '').split('\n');
  return type ? `${type}: ${message}` : message;
}

const isOver = (since: Date | null, limitMs: number, now: Date): boolean =>
  since !== null && now.getTime() - since.getTime() >= limitMs;

const dateOf = (time: Time): Date | null =>
  time == null ? null : new Date(Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / 1e6);
