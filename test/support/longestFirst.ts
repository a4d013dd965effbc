// The order in which test files are started: those that take longest go first, on a machine that has never run them too, so
// that the run does not end with one long file beside idle workers. Jest goes by the size of files and by earlier runs.
import sequencer from '@jest/test-sequencer';

// Its types are those of a CommonJS module, whose default export Node hands out by itself.
const Sequencer = sequencer as unknown as typeof sequencer.default;

type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

/** What waits for many stories, longest first. An order is all that this is: a file that is not here comes later. */
const LONGEST = [
  'e2e/terminatedFlows',
  'workflows/steps',
  'e2e/workflowResets',
  'e2e/railPause',
  'money/money',
  'dev/start',
  'e2e/reviewCases',
  'e2e/slowBank',
  'e2e/payouts',
  'faults/multiProcess',
  'e2e/sweep',
  'e2e/refunds',
  'statements/oneOrganisation',
  'workflows/payoutEndings',
  'webhooks/webhookDelivery',
  'e2e/unconfirmedCredits',
  'worker/shutdown',
  'workflows/replayCommand',
  'workflows/railStatusOrdering',
  'faults/flows',
];

export default class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const place = ({ path }: Tests[number]): number => {
      const found = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return found === -1 ? LONGEST.length : found;
    };
    return (await super.sort(tests)).toSorted((one, other) => place(one) - place(other));
  }
}
