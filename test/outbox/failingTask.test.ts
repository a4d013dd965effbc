// Which task of an open flow counts as failing.
import { expect, test } from '@jest/globals';
import { failingTask, isSuspect, textOf } from '../../src/outbox/failingTask.ts';

type Description = Parameters<typeof failingTask>[0];
type Events = Parameters<typeof failingTask>[1];

const NOW = new Date('2026-11-23T12:00:00Z');
const LIMITS = { activityFailingMs: 3_600_000, workflowTaskFailingMs: 300_000 };
const before = (seconds: number) => ({ seconds: NOW.getTime() / 1000 - seconds }) as never;

const activity = (attempt: number, category?: number): Description => ({
  pendingActivities: [
    {
      activityId: '7',
      activityType: { name: 'sendWithdrawal' },
      attempt,
      lastFailure: {
        message: 'no such column\nat line 1',
        applicationFailureInfo: { type: 'PostgresError', ...(category !== undefined && { category }) },
      },
    },
  ],
});
const scheduled = (seconds: number): Events => [
  { eventTime: before(10) },
  { eventTime: before(seconds), activityTaskScheduledEventAttributes: { activityId: '7' } },
];
const workflowTask = (attempt: number): Description => ({ pendingWorkflowTask: { attempt } });
const failed = (seconds: number): Events => [
  {
    eventTime: before(seconds),
    workflowTaskFailedEventAttributes: { failure: { message: '[TMPRL1100] Nondeterminism' } },
  },
];

test.each<[string, Description, Events, string | null]>([
  ['an activity that has failed for an hour', activity(70), scheduled(3_600), 'PostgresError: no such column'],
  ['an activity that has failed for less', activity(70), scheduled(3_599), null],
  ['an activity at its second attempt', activity(2), scheduled(3_600), null],
  ['an activity whose failure is expected', activity(70, 1), scheduled(3_600), null],
  [
    'an activity that was scheduled before the events that were read',
    activity(70),
    [{ eventTime: before(4_000) }],
    'PostgresError: no such column',
  ],
  ['a workflow task that has failed for five minutes', workflowTask(9), failed(300), '[TMPRL1100] Nondeterminism'],
  ['a workflow task that has failed for less', workflowTask(9), failed(299), null],
  ['a workflow task that no worker takes', workflowTask(1), scheduled(3_600), null],
  ['a flow that waits', {}, scheduled(9_999), null],
])('%s', (_name, description, events, error) => {
  const task = failingTask(description, events, LIMITS, NOW);
  expect(task && textOf(task.failure)).toBe(error);
  // The history of a flow that is not a suspect is not read.
  expect(error === null || isSuspect(description)).toBe(true);
});

test('an attempt that timed out has no failure of its own', () => {
  const description = { pendingActivities: [{ ...activity(5).pendingActivities?.[0], lastFailure: null }] };
  const task = failingTask(description, scheduled(3_600), LIMITS, NOW);
  expect(textOf(task?.failure)).toBe('no response of a worker in time');
});
