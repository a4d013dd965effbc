// Which task of an open flow fails again and again, from Temporal's description of the flow. Pure.
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';

type Description = Pick<WorkflowExecutionDescription['raw'], 'pendingActivities' | 'pendingWorkflowTask'>;
type PendingActivity = NonNullable<Description['pendingActivities']>[number];
type Event = NonNullable<History['events']>[number];
export type Failure = PendingActivity['lastFailure'];

export interface FailingTask {
  task: 'activity' | 'workflow_task';
  /** The activity's type; null for a workflow task. */
  activity: string | null;
  attempt: number;
  since: Date;
  /** Null or undefined: no worker responded in time. */
  failure: Failure;
}

export interface FailingLimits {
  activityFailingMs: number;
  workflowTaskFailingMs: number;
}

/**
 * temporal.api.enums.v1.ApplicationErrorCategory: the failure is expected, such as a paused rail or a dead endpoint.
 */
const BENIGN = 1;
/** A task that timed out once, by the end of a worker for example, is at its second attempt. */
const ATTEMPTS_MIN = 3;

/** Whether the description alone shows a task that may be failing, so that its history is worth a look. */
export const isSuspect = ({ pendingActivities, pendingWorkflowTask }: Description): boolean =>
  (pendingWorkflowTask?.attempt ?? 0) > 1 || (pendingActivities ?? []).some(isFailing);

const isFailing = ({ attempt, lastFailure }: PendingActivity): boolean =>
  (attempt ?? 0) >= ATTEMPTS_MIN && lastFailure?.applicationFailureInfo?.category !== BENIGN;

/** The task that has failed for longer than its limit; `events` are the last of the history, the latest first. */
export function failingTask(
  description: Description,
  events: readonly Event[],
  limits: FailingLimits,
  now: Date,
): FailingTask | null {
  const isOver = ({ since }: FailingTask, limitMs: number): boolean => now.getTime() - since.getTime() >= limitMs;
  const failed = events[0]?.workflowTaskFailedEventAttributes;
  if (description.pendingWorkflowTask && failed) {
    const task = {
      task: 'workflow_task' as const,
      activity: null,
      attempt: description.pendingWorkflowTask.attempt ?? 1,
      since: timeOf(events[0]) ?? now,
      failure: failed.failure,
    };
    if (isOver(task, limits.workflowTaskFailingMs)) return task;
  }
  for (const pending of (description.pendingActivities ?? []).filter(isFailing)) {
    const scheduled = events.find(
      ({ activityTaskScheduledEventAttributes: of }) => of != null && of.activityId === pending.activityId,
    );
    const task = {
      task: 'activity' as const,
      activity: pending.activityType?.name ?? '',
      attempt: pending.attempt ?? 1,
      // Not among the last events: scheduled before them.
      since: timeOf(scheduled ?? events.at(-1)) ?? now,
      failure: pending.lastFailure,
    };
    if (isOver(task, limits.activityFailingMs)) return task;
  }
  return null;
}

/** The error in one line. */
export function textOf(failure: Failure): string {
  if (failure == null) return 'no response of a worker in time';
  const type = failure.applicationFailureInfo?.type;
  const [message = ''] = (failure.message ?? '').split('\n');
  return type ? `${type}: ${message}` : message;
}

const timeOf = (event: Event | undefined): Date | null =>
  event?.eventTime ? new Date(Number(event.eventTime.seconds ?? 0) * 1000 + (event.eventTime.nanos ?? 0) / 1e6) : null;
