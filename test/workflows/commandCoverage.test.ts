// Every command that a workflow can issue is in a recorded history, so the replay test notices a change of it. The
// commands are read from the source: a new activity, timer, cause or status fails here until a history has it.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { HOLD_STATUSES } from '../../src/resources/holds/queries.ts';
import { REVIEW_STATUSES } from '../../src/resources/reviewCases/queries.ts';
import { SUMMARIES } from '../../src/workflows/activitySummaries.ts';
import { ADJUSTMENT_ATTENTION } from '../../src/workflows/adjustment/decide.ts';
import { CHOICES } from '../../src/workflows/attention/decide.ts';
import { HOLD_ATTENTION } from '../../src/workflows/hold/decide.ts';
import { attentionOf } from '../../src/workflows/reviewCase/decide.ts';
import { ATTENTION, FLOW_STATE } from '../../src/workflows/searchAttributes.ts';
import { recordedHistories } from '../support/histories.ts';
import { WITHOUT_SCENARIO } from '../support/scenarios.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

const codeOf = (file: string): string =>
  readFileSync(path.join(SRC, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');

/** What may issue commands, each found below; and what issues none. */
const COMMANDS = [
  'CancellationScope',
  'condition',
  'continueAsNew',
  'proxyActivities',
  'proxyLocalActivities',
  'sleep',
  'startChild',
  'upsertSearchAttributes',
];
const NO_COMMANDS = [
  'allHandlersFinished',
  'ChildWorkflowCancellationType',
  'ChildWorkflowFailure',
  'ContinueAsNew',
  'ParentClosePolicy',
  'defineQuery',
  'defineSignal',
  'defineUpdate',
  'isCancellation',
  'log',
  'proxySinks',
  'setCurrentDetails',
  'setHandler',
  'workflowInfo',
];

/** The names that a file imports from a module, without types. */
function importsOf(code: string, module: string): string[] {
  const lists = [...code.matchAll(/import \{([^}]*)\} from '([^']*)'/g)].filter(([, , from]) => from === module);
  const names = lists.flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  return names.filter((name) => name !== '' && !name.startsWith('type '));
}

/** The folders of src/workflows with a workflow, by workflow type. */
const FOLDERS = new Map(
  [...codeOf('workflows/index.ts').matchAll(/export \{([^}]*)\} from '\.\/(\w+)\/workflow\.ts'/g)].flatMap(
    ([, types = '', folder = '']) => Array.from(types.matchAll(/\w+/g), ([type]) => [type, folder] as const),
  ),
);
const WORKFLOW_FOLDERS = [
  ...new Set([...FOLDERS].filter(([type]) => !WITHOUT_SCENARIO.includes(type)).map(([, folder]) => folder)),
];

/** The code of a workflow with everything that it calls: what it imports, without other workflows. */
function codeWithImports(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return '';
  seen.add(file);
  const code = codeOf(file);
  const imported = [...code.matchAll(/import (?!type )[^;]*? from '(\.[^']*)'/g)]
    .map(([, from = '']) => path.join(path.dirname(file), from))
    .filter((other) => other.startsWith('workflows/') && !other.endsWith('/workflow.ts'));
  return [code, ...imported.map((other) => codeWithImports(other, seen))].join('\n');
}

/** The arguments of every call of a function in a code, as text. */
function callsOf(name: string, code: string): string[][] {
  return [...code.matchAll(new RegExp(`(?<![\\w.]|function )${name}(?:<[^(]*>)?\\(`, 'g'))].map((call) => {
    const args = [''];
    let depth = 1;
    for (let at = call.index + call[0].length; depth > 0; at += 1) {
      const char = code[at];
      if (char === undefined) throw new Error(`a call of ${name} does not end`);
      if (/[([{]/.test(char)) depth += 1;
      if (/[)\]}]/.test(char)) depth -= 1;
      if (char === ',' && depth === 1) args.push('');
      else if (depth > 0) args.push(`${args.pop()}${char}`);
    }
    return args.map((arg) => arg.trim()).filter((arg) => arg !== '');
  });
}

/** The strings of a union type in a source file. */
function unionOf(file: string, before: string): string[] {
  const [, union] = new RegExp(`${before}((?:[\\s|]*'\\w+')+)`).exec(codeOf(file)) ?? [];
  if (union === undefined) throw new Error(`${file} has no union after ${before}`);
  return [...union.matchAll(/\w+/g)].map(([value]) => value);
}

const except = (values: readonly string[], ...left: string[]): string[] =>
  values.filter((value) => !left.includes(value));

/** The value of FlowState that each flow sets. Those that it starts with, and those of its usual end, it does not. */
const TRANSFER_STATES = except(
  unionOf('workflows/bankTransfer/decide.ts', 'type TransferState ='),
  'processing',
  'completed',
);
const STATES: Record<string, string[]> = {
  payment: except(unionOf('workflows/payment/decide.ts', 'status:'), 'pending'),
  inboundCredit: except(unionOf('resources/inboundCredits/queries.ts', 'status:'), 'received', 'posted'),
  reviewCase: [...except([...REVIEW_STATUSES], 'open', 'returning'), ...TRANSFER_STATES],
  recall: ['posted', 'set_aside'],
  withdrawal: TRANSFER_STATES,
  refund: TRANSFER_STATES,
  payoutItem: TRANSFER_STATES,
  hold: except([...HOLD_STATUSES], 'held', 'released'),
  adjustment: except(unionOf('resources/adjustments/queries.ts', 'type AdjustmentStatus ='), 'requested', 'posted'),
};

/** Where search attributes are set: by the functions that are looked for below, and by one Schedule's flow. */
const SET_ATTRIBUTES = ['workflows/reconciliation/workflow.ts', 'workflows/state.ts'];

const summaryOf = (options = ''): string => /summary: '([^']*)'/.exec(options)?.[1] ?? 'without a summary';

/** The commands that the workflows in a folder can issue. */
function commandsOf(folder: string): string[] {
  const code = codeWithImports(`workflows/${folder}/workflow.ts`);
  const calls = (name: string): string[][] => callsOf(name, code);
  const has = (name: string): boolean => calls(name).length > 0;
  const proxies = [...code.matchAll(/const \{([^}]*)\}\s*=\s*proxyActivities\b/g)];
  if (proxies.length !== calls('proxyActivities').length) throw new Error(`${folder} does not destructure its proxies`);
  const activities = proxies.flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  const localActivities = [...code.matchAll(/\bproxyLocalActivities(?:<\w+>)?\(\w+\)\.(\w+)\(/g)];
  if (localActivities.length !== calls('proxyLocalActivities').length) {
    throw new Error(`${folder} does not call its local activities at once`);
  }
  const timers = calls('sleep').map(([, options]) => summaryOf(options));
  const waits = calls('condition').some((args) => args.length > 1);
  const commands = [
    ...activities.filter((name) => name !== '').map((name) => `activity ${name}`),
    ...localActivities.map(([, name]) => `local activity ${name}`),
    ...timers.flatMap((summary) => [`timer: ${summary}`, `fired timer: ${summary}`]),
    ...(waits ? ['timer', 'fired timer', 'cancelled timer'] : []),
    ...calls('startChild').map(([child]) => `child ${child}`),
    ...(has('continueAsNew') ? ['continue as new'] : []),
    ...(has('new CancellationScope') ? ['cancelled scope'] : []),
    ...(has('showAttention') ? ['Attention set', 'Attention cleared'] : []),
    ...(has('showState') ? (STATES[folder] ?? ['of a flow without STATES']).map((state) => `FlowState ${state}`) : []),
  ];
  return commands.map((command) => `${folder}: ${command}`);
}

/** What workflows of any folder can issue or receive. */
function commonCommands(): string[] {
  const code = globSync('workflows/**/*.ts', { cwd: SRC }).map(codeOf).join('\n');
  const reviewReasons = ['reconciliation_break', 'unknown_account'];
  return [
    ...[...Object.keys(CHOICES), ...reviewReasons.map(attentionOf), ADJUSTMENT_ATTENTION, HOLD_ATTENTION].map(
      (cause) => `Attention ${cause}`,
    ),
    ...callsOf('defineSignal', code).map(([name]) => `signal ${name}`),
    ...callsOf('defineUpdate', code).map(([name]) => `update ${name}`),
  ].map((command) => command.replaceAll("'", ''));
}

/** Summaries of waits: older histories have none, and a summary is not part of the command. */
const WAITS = new Set([
  '',
  ...globSync('workflows/**/*.ts', { cwd: SRC })
    .flatMap((file) => callsOf('condition', codeOf(file)))
    .flatMap(([, , options = '']) => (options === '' ? [] : [summaryOf(options)])),
]);

/** The commands, signals and updates in a history. */
function recordedIn({ events }: History): string[] {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  const folder = FOLDERS.get(started?.workflowType?.name ?? '');
  const timers = new Map<string, string>();
  const found: string[] = [];
  const own = (command: string): void => void found.push(`${folder}: ${command}`);
  for (const event of events ?? []) {
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name;
    if (activity) own(`activity ${activity}`);
    const marker = event.markerRecordedEventAttributes;
    const [data] = marker?.details?.data?.payloads ?? [];
    if (data) {
      own(`local activity ${defaultPayloadConverter.fromPayload<{ activity_type?: string }>(data).activity_type}`);
    }
    const child = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowType?.name;
    if (child) own(`child ${child}`);
    if (event.workflowExecutionContinuedAsNewEventAttributes) own('continue as new');
    if (event.activityTaskCancelRequestedEventAttributes) own('cancelled scope');

    const timerId = event.timerStartedEventAttributes?.timerId;
    if (timerId) {
      const summary = event.userMetadata?.summary;
      const text = summary ? defaultPayloadConverter.fromPayload<string>(summary) : '';
      timers.set(timerId, WAITS.has(text) ? '' : `: ${text}`);
      own(`timer${timers.get(timerId)}`);
    }
    const fired = event.timerFiredEventAttributes?.timerId;
    if (fired) own(`fired timer${timers.get(fired)}`);
    const cancelled = event.timerCanceledEventAttributes?.timerId;
    if (cancelled) own(timers.get(cancelled) === '' ? 'cancelled timer' : 'cancelled scope');

    const upserted = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields ?? {};
    for (const [name, payload] of Object.entries(upserted)) {
      const value = defaultPayloadConverter.fromPayload<string | null>(payload);
      if (name === FLOW_STATE.name) own(`FlowState ${value}`);
      if (name === ATTENTION.name) own(value === null ? 'Attention cleared' : 'Attention set');
      if (name === ATTENTION.name) found.push(`Attention ${value}`);
    }
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
    if (signal) found.push(`signal ${signal}`);
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name;
    if (update) found.push(`update ${update}`);
  }
  return found;
}

/** Commands without a history, and the reason. */
const EXCEPTIONS = new Map([
  ['payment: FlowState failed', 'no movement sets this status'],
  ['payment: activity expirePayment', 'follows only a failure of the local activity, which steps.slow.test.ts has'],
  ...['payoutItem', 'refund'].map(
    (flow) => [`${flow}: continue as new`, 'driveBankTransfer does it: it is in those of withdrawal'] as const,
  ),
]);

const commands = [...WORKFLOW_FOLDERS.flatMap(commandsOf), ...commonCommands()];
const recorded = new Set(recordedHistories().flatMap(({ history }) => recordedIn(history)));

test('every command of a workflow is in a recorded history, or is an exception', () => {
  expect(commands.length).toBeGreaterThan(100);
  expect(commands.filter((command) => !recorded.has(command)).toSorted()).toEqual([...EXCEPTIONS.keys()].toSorted());
});

/** A summary and the value of a search attribute may change; older histories have the former one. */
const MAY_CHANGE = /timer: |Attention |FlowState /;

test('no recorded command is missed in the source', () => {
  const inSource = new Set(commands);
  expect([...recorded].filter((command) => !inSource.has(command) && !MAY_CHANGE.test(command))).toEqual([]);
});

test('each activity that a workflow calls has a summary, and no summary is left over', () => {
  const called = [...new Set(FOLDERS.values())].flatMap((folder) =>
    commandsOf(folder).flatMap((command) => / activity (\w+)$/.exec(command)?.[1] ?? []),
  );
  expect(Object.keys(SUMMARIES).toSorted()).toEqual([...new Set(called)].toSorted());
});

test('each activity in a history has a summary, local ones too', () => {
  const without = recordedHistories().flatMap(({ name, history }) =>
    (history.events ?? []).flatMap((event) => {
      const isLocal = event.markerRecordedEventAttributes?.markerName === 'core_local_activity';
      const activity = event.activityTaskScheduledEventAttributes?.activityType?.name ?? (isLocal ? 'local' : null);
      return activity !== null && !event.userMetadata?.summary ? [`${name}: ${activity}`] : [];
    }),
  );
  expect(without).toEqual([]);
});

test('workflows issue commands only by the functions whose calls are looked for', () => {
  const imported = globSync('workflows/**/*.ts', { cwd: SRC }).flatMap((file) =>
    importsOf(codeOf(file), '@temporalio/workflow'),
  );
  expect([...new Set(imported)].toSorted()).toEqual([...COMMANDS, ...NO_COMMANDS].toSorted());
});

test('search attributes are set only by the functions whose calls are looked for', () => {
  const files = globSync('workflows/**/*.ts', { cwd: SRC });
  expect(files.filter((file) => callsOf('upsertSearchAttributes', codeOf(file)).length > 0).toSorted()).toEqual(
    SET_ATTRIBUTES,
  );
});
