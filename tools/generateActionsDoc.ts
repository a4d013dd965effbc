// Writes docs/performance/actions.md from the recorded histories: the Temporal actions, which Temporal Cloud bills, and
// the history events of each outcome of a flow. Run by `npm run histories`; a test checks that the page is up to date.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const HISTORIES = fileURLToPath(new URL('../test/workflows/histories', import.meta.url));

const FILE = new URL('../docs/performance/actions.md', import.meta.url);

/** Billed actions (https://docs.temporal.io/cloud/actions), by the history events that represent them. */
const ACTIONS = {
  starts: ['WORKFLOW_EXECUTION_STARTED', 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW'],
  activities: ['ACTIVITY_TASK_STARTED'],
  signals: ['WORKFLOW_EXECUTION_SIGNALED'],
  timers: ['TIMER_STARTED'],
  'search attributes': ['UPSERT_WORKFLOW_SEARCH_ATTRIBUTES'],
  updates: ['WORKFLOW_EXECUTION_UPDATE_ACCEPTED'],
} as const;

type Kind = keyof typeof ACTIONS;
const KINDS = Object.keys(ACTIONS) as Kind[];

/** What each kind of action is for. */
const PURPOSES: Record<Kind, string> = {
  starts:
    'The flow itself. A payout has an additional one for every hundred items (a page) and one for each item, counted in their own rows: every item is found, observed and retried by its own workflow id.',
  activities:
    'A ledger movement or a call of the rail, each idempotent. A bank transfer has two: the send, and the status query before anything is posted, because a callback alone moves no money. The table counts every attempt.',
  signals: 'A report of the rail, or a payment from a wallet. Without signals the flow would have to poll.',
  timers:
    'The expiry of a payment; while a transfer is in progress, the time to ask the rail for an outcome that it has not reported. A timer that is cancelled by a signal is billed as well, so none is started when the report arrives before the response of the send.',
  'search attributes':
    'What operators search for: a flow that needs attention (set and cleared), a partially paid payment, an unusual outcome. Attributes that are known at the start are part of the start and free; the usual outcome is not written.',
  updates: 'An operator decision, one each; a decision about money needs two.',
};

interface RecordedEvent {
  eventType: string;
  activityTaskStartedEventAttributes?: { attempt?: number };
}

/**
 * The cost of an outcome. Failed attempts of an activity have no events; the last attempt's event has the attempt
 * number.
 */
export interface Cost {
  ending: string;
  actions: Record<Kind, number>;
  events: number;
}

export function costs(): Cost[] {
  const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => {
    const { events } = JSON.parse(readFileSync(path.join(HISTORIES, file), 'utf8')) as { events: RecordedEvent[] };
    const count = (names: readonly string[]): number =>
      events
        .filter(({ eventType }) => names.includes(eventType.replace('EVENT_TYPE_', '')))
        .reduce((sum, event) => sum + (event.activityTaskStartedEventAttributes?.attempt ?? 1), 0);
    const actions = Object.fromEntries(KINDS.map((kind) => [kind, count(ACTIONS[kind])])) as Record<Kind, number>;
    return { ending: path.basename(file, '.json'), actions, events: events.length };
  });
}

export function actionsPage(): string {
  const rows = costs().map(({ ending, actions, events }) => {
    const sum = KINDS.reduce((total, kind) => total + actions[kind], 0);
    return `| \`${ending}\` | ${[sum, ...KINDS.map((kind) => actions[kind] || ''), events].join(' | ')} |`;
  });
  return [
    '# Temporal actions per flow',
    '',
    'Temporal Cloud bills actions; on a self-hosted server they are most of the load. Counted in the recorded histories',
    'of each outcome of each flow (`test/workflows/histories/`) and written by `npm run histories`. The number of timers',
    'depends on whether the response or the report of the rail arrives first, so two recordings of an outcome may differ',
    'by one.',
    '',
    `| outcome | actions | ${KINDS.join(' | ')} | history events |`,
    `|---|---|${KINDS.map(() => '---|').join('')}---|`,
    ...rows,
    '',
    'A settled payment costs four actions, the minimum: a start, a timer, a signal and an activity. Each scheduled run',
    '(sweep, ledger verification, reconciliation, housekeeping) costs the action of the Schedule, a start and an activity.',
    '',
    '## Purpose of each kind',
    '',
    '| kind | purpose |',
    '|---|---|',
    ...KINDS.map((kind) => `| ${kind} | ${PURPOSES[kind]} |`),
    '',
    'Current details, summaries and the search attributes of the start are free. Queries are sent only by operators, from',
    'the Temporal UI or the command line.',
    '',
  ].join('\n');
}

export function writeActionsPage(): void {
  writeFileSync(FILE, actionsPage());
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeActionsPage();
  console.log(`wrote ${fileURLToPath(FILE)}`);
}
