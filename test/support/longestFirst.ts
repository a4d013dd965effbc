// A test sequencer that starts the longest test files first, also on a machine without earlier runs, so that the run
// does not end with one long file while other workers are idle. Jest's default uses file sizes and earlier runs.
import sequencer from '@jest/test-sequencer';

// The types describe a CommonJS module; Node imports its default export directly.
const Sequencer = sequencer as unknown as typeof sequencer.default;

type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

/** Test files, slow or not, in descending order of duration. Only the order is defined here: other files follow. */
const LONGEST = [
  'metrics/metrics', // the first file of its process: it reads what a process has counted
  'e2e/terminatedFlows',
  'workflows/monnifySteps',
  'workflows/steps',
  'e2e/workflowResets',
  'e2e/railPause',
  'faults/flows',
  'faults/rollback',
  'money/money',
  'dev/start',
  'clients/generators',
  'chaos/chaos',
  'e2e/failingFlows',
  'e2e/reviewCases',
  'e2e/slowBank',
  'e2e/moneyToWallet',
  'money/paymentMoney',
  'faults/multiProcess',
  'api/idempotency',
  'api/everyList',
  'verification/verifyBooks',
  'e2e/payouts',
  'e2e/sweep',
  'e2e/refunds',
  'api/timeFilters',
  'statements/oneOrganisation',
  'webhooks/webhookDelivery',
  'e2e/unconfirmedCredits',
  'worker/shutdown',
  'workflows/replayCommand',
  'workflows/railStatusOrdering',
];

export default class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const rank = ({ path }: Tests[number]): number => {
      const index = LONGEST.findIndex((name) => path.replace('.slow.', '.').endsWith(`/test/${name}.test.ts`));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(tests)).toSorted((one, other) => rank(one) - rank(other));
  }
}
