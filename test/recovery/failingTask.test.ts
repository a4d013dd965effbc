// Which task of an open flow counts as failing or stalled.
import { expect, test } from '@jest/globals';
import { failingTask, isSuspect, textOf } from '../../src/recovery/failingTask.ts';

type Description = Parameters<typeof failingTask>[0];
type Events = Parameters<typeof failingTask>[1];

const NOW = new Date('2026-11-23T12:00:00Z');
const LIMITS = { activityFailingMs: 3_600_000, workflowTaskFailingMs: 600_000, taskStalledMs: 300_000 };
const before = (seconds: number) => ({ seconds: NOW.getTime() / 1000 - seconds }) as never;

const SCHEDULED = 1;
const STARTED = 2;
const START_TO_CLOSE = 1;
const SCHEDULE_TO_START = 2;

const activity = (attempt: number): Description => ({
  pendingActivities: [
    {
      activityId: '7',
      activityType: { name: 'sendBankTransfer' },
      attempt,
      lastFailure: { message: 'no such column\nat line 1', applicationFailureInfo: { type: 'PostgresError' } },
    },
  ],
});
/** An activity that waits for a worker, or that a worker has taken. */
const untaken = (seconds: number, attempt = 1): Description => ({
  pendingActivities: [{ activityId: '7', attempt, state: SCHEDULED, scheduledTime: before(seconds) }],
});
const taken = (seconds: number, heartbeat: number | null = null): Description => ({
  pendingActivities: [
    {
      activityId: '7',
      attempt: 1,
      state: STARTED,
      lastStartedTime: before(seconds),
      lastHeartbeatTime: heartbeat === null ? null : before(heartbeat),
    },
  ],
});
const scheduled = (seconds: number): Events => [
  { eventTime: before(10) },
  { eventTime: before(seconds), activityTaskScheduledEventAttributes: { activityId: '7' } },
];
const workflowTask = (attempt: number, seconds = 1, state = SCHEDULED): Description => ({
  pendingWorkflowTask: { attempt, state, scheduledTime: before(seconds) },
});
const failedAttempt = (seconds: number, message = '[TMPRL1100] Nondeterminism') => ({
  eventTime: before(seconds),
  workflowTaskFailedEventAttributes: { failure: { message } },
});
const timedOut = (seconds: number, timeoutType: number) => ({
  eventTime: before(seconds),
  workflowTaskTimedOutEventAttributes: { timeoutType },
});
const signalled = (seconds: number) => ({
  eventTime: before(seconds),
  workflowExecutionSignaledEventAttributes: { signalName: 'creditReceived' },
});
const completed = (seconds: number) => ({ eventTime: before(seconds), workflowTaskCompletedEventAttributes: {} });

const NONDETERMINISM = '[TMPRL1100] Nondeterminism';
const NOT_TAKEN = 'no worker has taken it';
const NOT_ENDED = 'a worker has taken it and not ended it';
const NO_RESPONSE = 'no response of a worker in time';

test.each<[string, Description, Events, string | null]>([
  ['an activity that has failed for an hour', activity(70), scheduled(3_600), 'PostgresError: no such column'],
  ['an activity that has failed for less', activity(70), scheduled(3_599), null],
  ['an activity at its second attempt', activity(2), scheduled(3_600), null],
  [
    'an activity that was scheduled before the events that were read',
    activity(70),
    [{ eventTime: before(4_000) }],
    'PostgresError: no such column',
  ],
  ['an activity that no worker takes', untaken(300), scheduled(300), NOT_TAKEN],
  ['an activity that no worker takes yet', untaken(299), scheduled(299), null],
  ['a retry of an activity that no worker takes', untaken(300, 2), scheduled(3_599), NOT_TAKEN],
  ['an activity that waits for its next attempt', untaken(-600, 2), scheduled(3_599), null],
  ['an activity that was taken and not ended', taken(300), scheduled(9_999), NOT_ENDED],
  ['an activity that was just taken', taken(299), scheduled(9_999), null],
  ['an activity that sends heartbeats', taken(9_999, 200), scheduled(9_999), null],
  ['a workflow task that has failed for ten minutes', workflowTask(9), [failedAttempt(600)], NONDETERMINISM],
  ['a workflow task that has failed for less', workflowTask(9), [failedAttempt(599)], null],
  [
    'a workflow task that has failed for ten minutes, with signals since',
    workflowTask(9),
    [signalled(2), failedAttempt(500), signalled(550), failedAttempt(600, 'another'), completed(700)],
    NONDETERMINISM,
  ],
  [
    'a workflow task that has failed, was completed, and fails again',
    workflowTask(2),
    [failedAttempt(500), completed(550), failedAttempt(600)],
    null,
  ],
  [
    'a workflow task with more signals since than are read',
    workflowTask(9),
    [signalled(1), signalled(600)],
    NO_RESPONSE,
  ],
  ['a workflow task that only times out', workflowTask(9), [timedOut(600, START_TO_CLOSE)], NO_RESPONSE],
  ['a workflow task that no worker takes', workflowTask(1, 300), scheduled(300), NOT_TAKEN],
  ['a workflow task that no worker takes yet', workflowTask(1, 299), scheduled(299), null],
  [
    'a workflow task that the worker with the flow in its cache did not take, and no other does',
    workflowTask(1, 660),
    [{ eventTime: before(660) }, timedOut(660, SCHEDULE_TO_START), completed(999)],
    NOT_TAKEN,
  ],
  ['a workflow task that was taken and not ended', workflowTask(1, 660, STARTED), scheduled(660), NOT_ENDED],
  ['a flow that waits', {}, scheduled(9_999), null],
])('%s', (_name, description, events, error) => {
  const task = failingTask(description, events, LIMITS, NOW);
  expect(task && textOf(task)).toBe(error);
  // The history of a flow that is not a suspect is not read.
  expect(error === null || isSuspect(description, LIMITS, NOW)).toBe(true);
});

test('the problem counts from its first failure, or from when the task was due', () => {
  const since = (...[description, events]: [Description, Events]) =>
    NOW.getTime() - (failingTask(description, events, LIMITS, NOW)?.since.getTime() ?? 0);
  expect(since(workflowTask(9), [failedAttempt(500), signalled(550), failedAttempt(700)])).toBe(700_000);
  expect(since(workflowTask(1, 660), [])).toBe(660_000);
  expect(since(untaken(400), scheduled(500))).toBe(400_000);
});

test('an attempt that timed out has no failure of its own', () => {
  const description = { pendingActivities: [{ ...activity(5).pendingActivities?.[0], lastFailure: null }] };
  const task = failingTask(description, scheduled(3_600), LIMITS, NOW);
  expect(task && textOf(task)).toBe(NO_RESPONSE);
});
