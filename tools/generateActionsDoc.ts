// Writes docs/performance/actions.md from the recorded histories: what every ending of a flow costs in Temporal actions,
// which are what Temporal Cloud bills, and in history events. `npm run histories` writes it anew; a test compares the two.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const HISTORIES = fileURLToPath(new URL('../test/workflows/histories', import.meta.url));

const FILE = new URL('../docs/performance/actions.md', import.meta.url);

/** What is billed (https://docs.temporal.io/cloud/actions), by the event that shows it in a history. */
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

/** Why each kind is paid for. */
const EARNED: Record<Kind, string> = {
  starts:
    'the flow itself. A payout has one more for every hundred items (their page) and one for each item, counted where they run: each is found, watched and freed by its own id',
  activities:
    'an effect on the books or a word from the rail, each safe to repeat. A bank transfer has two: the send, and the look at its outcome before anything is posted, because a callback alone moves no money. The table counts every attempt',
  signals: 'the rail’s news, or a payment made from a wallet. Without it the flow would have to ask again and again',
  timers:
    'the end of a payment’s window; while a transfer is under way, the moment to ask the rail for an outcome that it did not report. One that is still waiting when the news comes was billed all the same, which is why news that is there before the answer of the send starts none',
  'search attributes':
    'what operations look for: a flow that waits for a person (set and cleared), a payment that is partly paid, an end that is not the usual one. What is known at the start is written with the start, for nothing, and the usual end is not written at all',
  updates: 'an operator’s decision, one each; money needs two of them',
};

interface RecordedEvent {
  eventType: string;
  activityTaskStartedEventAttributes?: { attempt?: number };
}

/** What an ending cost. Failed attempts of an activity have no event of their own: the last one says which it was. */
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
    '# What a flow costs in Temporal',
    '',
    'Actions are what Temporal Cloud bills, and on a server of one’s own they are most of its work. Counted in the recorded histories of',
    'every ending of every flow (`test/workflows/histories/`); written by `npm run histories`. How often a timer was started depends on',
    'which came first, the answer or the news, so two recordings of an ending may differ by one.',
    '',
    `| ending | actions | ${KINDS.join(' | ')} | history events |`,
    `|---|---|${KINDS.map(() => '---|').join('')}---|`,
    ...rows,
    '',
    'A settled payment costs four actions, the least that its story can be told in: a start, a timer, a signal and an activity. Of the Schedules, each run of a sweep,',
    'a verification, a reconciliation or housekeeping costs the schedule’s own action, a start and an activity.',
    '',
    '## How each is earned',
    '',
    '| kind | why |',
    '|---|---|',
    ...KINDS.map((kind) => `| ${kind} | ${EARNED[kind]} |`),
    '',
    'Nothing is paid for current details, summaries, and the attributes of the start. Queries are only asked by people.',
    '',
  ].join('\n');
}

export function writeActionsPage(): void {
  writeFileSync(FILE, actionsPage());
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeActionsPage();
  console.log(`written ${fileURLToPath(FILE)}`);
}
