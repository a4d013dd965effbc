// Writes docs/performance/actions.md from the recorded histories: what every ending of a flow costs in Temporal actions
// (which Temporal Cloud bills) and in history events. `npm run histories` runs it; a test compares the two.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const HISTORIES = fileURLToPath(new URL('../test/workflows/histories', import.meta.url));

const FILE = new URL('../docs/performance/actions.md', import.meta.url);

/** The kinds of billed actions (https://docs.temporal.io/cloud/actions) that a history shows. */
const KINDS = ['starts', 'activities', 'signals', 'timers', 'search attributes', 'updates'] as const;

type Kind = (typeof KINDS)[number];

/** What each kind is spent on. */
const SPENT_ON: Record<Kind, string> = {
  starts: 'the workflow: one, two for a child (a payout item), none if a signal started it',
  activities: 'effects and rail calls. A bank transfer has two: send, and query, as a callback alone moves no money',
  signals: 'a report of the rail, or a payment from a wallet; without it the flow would poll',
  timers: 'the expiry of a payment; the next poll of a transfer. A cancelled timer is billed too',
  'search attributes': 'a parked flow (set and cleared), a partly paid payment, an unusual end; free at the start',
  updates: 'a decision of an operator; one about money needs two',
};

/** The parts of a history event that show an action, as Temporal's API and its JSON have them. */
interface RecordedEvent {
  workflowExecutionStartedEventAttributes?: {
    parentWorkflowExecution?: object | null;
    continuedExecutionRunId?: string | null;
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
  const actions: Record<Kind, number> = {
    starts: 0,
    activities: 0,
    signals: 0,
    timers: 0,
    'search attributes': 0,
    updates: 0,
  };
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

/** The cost of an outcome. */
export interface Cost {
  ending: string;
  actions: Record<Kind, number>;
  events: number;
}

export function costs(): Cost[] {
  const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => {
    const { events } = JSON.parse(readFileSync(path.join(HISTORIES, file), 'utf8')) as { events: RecordedEvent[] };
    return { ending: path.basename(file, '.json'), actions: countActions(events), events: events.length };
  });
}

export function actionsPage(): string {
  const endingsByCost = Map.groupBy(costs(), ({ actions, events }) => {
    const sum = KINDS.reduce((total, kind) => total + actions[kind], 0);
    return [sum, ...KINDS.map((kind) => actions[kind] || ''), events].join(' | ');
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
    `| ending | actions | ${KINDS.join(' | ')} | events |`,
    `|---|---|${KINDS.map(() => '---|').join('')}---|`,
    ...rows,
    '',
    ...KINDS.map((kind) => `- **${kind}**: ${SPENT_ON[kind]}`),
    '',
    'Current details and summaries are free. No timer starts when the rail reports before the response of the send.',
    'Each run of a Schedule costs two actions of the Schedule, a start, and its activities.',
    '',
    'A payout of n items costs its own row and n rows of its items. Above a hundred items it also has a timer every ten',
    'seconds while items wait to be started, and two actions for each time that it continues as new.',
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
