// Writes docs/performance/actions.md from the recorded histories: what every ending of a flow costs in Temporal actions
// (which Temporal Cloud bills) and in history events. `npm run histories` runs it; a test compares the two.
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

/** The columns: every flow has one start. */
const COLUMNS = KINDS.filter((kind) => kind !== 'starts');

/** What each kind is spent on. */
const SPENT_ON: Record<Kind, string> = {
  starts: 'the workflow. Payout items, and pages of a hundred items, are workflows of their own',
  activities: 'effects and rail calls. A bank transfer has two: send, and query, as a callback alone moves no money',
  signals: 'a report of the rail, or a payment from a wallet; without it the flow would poll',
  timers: 'the expiry of a payment; the next poll of a transfer. A cancelled timer is billed too',
  'search attributes': 'a parked flow (set and cleared), a partly paid payment, an unusual end; free at the start',
  updates: 'a decision of an operator; one about money needs two',
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
  const endingsByCost = Map.groupBy(costs(), ({ actions, events }) => {
    const sum = KINDS.reduce((total, kind) => total + actions[kind], 0);
    return [sum, ...COLUMNS.map((kind) => actions[kind] || ''), events].join(' | ');
  });
  const rows = [...endingsByCost].map(
    ([cost, endings]) => `| ${endings.map(({ ending }) => `\`${ending}\``).join(', ')} | ${cost} |`,
  );
  return [
    '# Cost of a flow in Temporal',
    '',
    'Temporal Cloud bills actions; on a self-hosted server they are most of the load. The table counts them in the',
    'recorded histories (`test/workflows/histories/`), with the start and every attempt of an activity.',
    '`npm run histories` writes it. Two recordings of an ending may differ by one timer.',
    '',
    `| ending | actions | ${COLUMNS.join(' | ')} | events |`,
    `|---|---|${COLUMNS.map(() => '---|').join('')}---|`,
    ...rows,
    '',
    ...KINDS.map((kind) => `- **${kind}**: ${SPENT_ON[kind]}`),
    '',
    'Current details and summaries are free. No timer starts when the rail reports before the response of the send.',
    'Each run of a Schedule costs an action of the Schedule, a start and an activity.',
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
