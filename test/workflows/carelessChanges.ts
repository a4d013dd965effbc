// Small incompatible changes of the workflows, each an edit of one line, with the scenarios whose histories reject it.
// They prove that the histories contain the commands that are easily changed without notice.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BundleOptions, bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const WORKFLOWS = fileURLToPath(new URL('../../src/workflows', import.meta.url));

interface CarelessChange {
  name: string;
  /** In src/workflows. */
  file: string;
  /** The text to edit, which the file has once. */
  find: string;
  /** The edited text. `isMade` is an expression that is true in the bundle with this change. */
  edited: (isMade: string) => string;
  /** Scenarios whose histories do not fit the change. */
  rejectedBy: string[];
}

export const CARELESS_CHANGES: CarelessChange[] = [
  {
    name: 'the window of a payout has no timer',
    file: 'payout/children.ts',
    find: 'let hasMore = items.length > WINDOW;',
    edited: (isMade) => `let hasMore = items.length > WINDOW && !${isMade};`,
    rejectedBy: ['payout-handedOver', 'payout-windowTurned'],
  },
  {
    name: 'a payout whose history is long starts all of its items',
    file: 'payout/children.ts',
    find: 'if (running.size > 0 && workflowInfo().continueAsNewSuggested)',
    edited: (isMade) => `if (!${isMade} && running.size > 0 && workflowInfo().continueAsNewSuggested)`,
    rejectedBy: ['payout-handedOver'],
  },
  {
    name: 'a pause of the rail is not shown as attention',
    file: 'bankTransfer/drive.ts',
    find: 'attention.raise(cause && {',
    edited: (isMade) => `attention.raise((${isMade} && cause === 'rail_paused' ? null : cause) && {`,
    rejectedBy: ['withdrawal-paused'],
  },
  {
    name: 'another activity runs between the rounds of a payout',
    file: 'payout/workflow.ts',
    find: "await sleep(roundPauseMs(round), { summary: 'looks again for open items' });",
    edited: (isMade) =>
      `await sleep(roundPauseMs(round), { summary: 'looks again for open items' }); if (${isMade}) await rollUpPayout(input);`,
    rejectedBy: ['payout-continuedAsNew', 'payout-postingRefused', 'payout-twoRounds'],
  },
  {
    name: 'a contradiction and an unknown outcome set another search attribute',
    file: 'bankTransfer/drive.ts',
    find: 'const timeout = waitMs(known,',
    edited: (isMade) =>
      `if (${isMade} && (cause === 'rail_contradiction' || cause === 'outcome_unknown')) showState(cause); const timeout = waitMs(known,`,
    rejectedBy: [
      'withdrawal-contradictionDismissed',
      'withdrawal-contradictionReturned',
      'withdrawal-outcomeUnknown',
      'withdrawal-referenceForgotten',
    ],
  },
  {
    name: 'a reference that the rail has known is sent again when it is unknown',
    file: 'bankTransfer/decide.ts',
    find: 'if (knowsReference) return',
    edited: (isMade) =>
      `if (knowsReference && ${isMade} && rail === 'unknown') return 'send'; if (knowsReference) return`,
    rejectedBy: ['withdrawal-referenceForgotten'],
  },
  {
    name: 'a transfer that the rail did not accept is queried and not sent again',
    file: 'bankTransfer/decide.ts',
    find: "if (rail === 'paused' || rail === 'not_ready') return step;",
    edited: (isMade) =>
      `if (rail === 'not_ready' && ${isMade}) return 'check'; if (rail === 'paused' || rail === 'not_ready') return step;`,
    rejectedBy: ['withdrawal-notReady'],
  },
  {
    name: 'a payment that continues as new reads no credits',
    file: 'payment/workflow.ts',
    find: 'if (continued !== undefined) await eachUnappliedCredit',
    edited: (isMade) => `if (continued !== undefined && !${isMade}) await eachUnappliedCredit`,
    rejectedBy: ['payment-continued'],
  },
  {
    name: 'a transfer that continues as new is sent again',
    file: 'bankTransfer/drive.ts',
    find: '} = continued ?? initialState(Date.now());',
    edited: (isMade) => `} = (${isMade} ? undefined : continued) ?? initialState(Date.now());`,
    rejectedBy: ['withdrawal-continued'],
  },
  {
    name: 'a refused posting sets another search attribute after the decision',
    file: 'attention/park.ts',
    find: "await park('posting_refused', refusedView(refusal));",
    edited: (isMade) => `await park('posting_refused', refusedView(refusal)); if (${isMade}) showAttention(null);`,
    rejectedBy: ['payout-postingRefused', 'withdrawal-postingRefused'],
  },
];

/** Replaced in the bundle by the name of the change that is made. */
const MADE = 'globalThis.carelessChange';

/** Returns a source file with all changes, each under its condition; null for a file that has none. */
function editedText(file: string): string | null {
  const changes = CARELESS_CHANGES.filter((change) => `${WORKFLOWS}/${change.file}` === file);
  if (changes.length === 0) return null;
  return changes.reduce(
    (text, { name, find, edited }) => {
      const [before, after, ...more] = text.split(find);
      if (before === undefined || after === undefined || more.length > 0) {
        throw new Error(`${file} does not have this text once: ${find}`);
      }
      return before + edited(`(${MADE} === ${JSON.stringify(name)})`) + after;
    },
    readFileSync(file, 'utf8'),
  );
}

type Webpack = NonNullable<BundleOptions['webpackConfigHook']>;
type Reading = (path: string, ...rest: unknown[]) => void;

/** Makes webpack read the edited text of the files that have changes. */
const editSources: Webpack = (config) => {
  const plugin = {
    apply(compiler: { hooks: { run: { tap: (name: string, hook: () => void) => void } }; inputFileSystem: unknown }) {
      compiler.hooks.run.tap('carelessChanges', () => {
        const files = compiler.inputFileSystem as { readFile: Reading };
        const readFile = files.readFile.bind(files);
        files.readFile = (path, ...rest) => {
          const text = editedText(path);
          const done = rest.at(-1) as (error: null, content: Buffer) => void;
          if (text === null) readFile(path, ...rest);
          else done(null, Buffer.from(text));
        };
      });
    },
  };
  return { ...config, plugins: [...(config.plugins ?? []), plugin] };
};

/** Bundles the workflows once. The function that it returns gives the bundle with one change, by its name. */
export async function bundleCarelessChanges(): Promise<(name: string) => { code: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: `${WORKFLOWS}/index.ts`,
    webpackConfigHook: editSources,
    logger: new DefaultLogger('WARN'),
  });
  return (name) => ({ code: code.replaceAll(MADE, JSON.stringify(name)) });
}
