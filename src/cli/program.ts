// The command line program. Each group of commands is in a file of its own, which is loaded only when it is used: this
// halves the start time of a command.
import { VERSION } from '../release.ts';
import { Command } from './command.ts';

/** Loaders of the command groups, by the first word of a command line, in the order of the help. */
const GROUPS: Record<string, () => Promise<(program: Command) => void>> = {
  organisations: async () => (await import('./organisations.ts')).addOrganisationCommands,
  operators: async () => (await import('./operators.ts')).addOperatorCommands,
  keys: async () => (await import('./keys.ts')).addKeyCommands,
  migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
  fees: async () => (await import('./fees.ts')).addFeeCommands,
  limits: async () => (await import('./limits.ts')).addLimitCommands,
  wallets: async () => (await import('./wallets.ts')).addWalletCommands,
  ledger: async () => (await import('./ledger.ts')).addLedgerCommands,
  attention: async () => (await import('./attention.ts')).addAttentionCommands,
  flows: async () => (await import('./flows.ts')).addFlowCommands,
  rail: async () => (await import('./rail.ts')).addRailCommands,
  webhooks: async () => (await import('./webhooks.ts')).addWebhookCommands,
  reviews: async () => (await import('./reviews.ts')).addReviewCommands,
  adjustments: async () => (await import('./adjustments.ts')).addAdjustmentCommands,
  reconciliation: async () => (await import('./reconciliation.ts')).addReconciliationCommands,
};

/** Returns the program with the group of `firstWord`, or with all groups when it names none, as `--help` does. */
export async function createProgram(firstWord?: string): Promise<Command> {
  const program = new Command('npm run cli --')
    .description(
      'Commands to set up and operate Manilla. They use DATABASE_URL, or the settings that `npm start` wrote.',
    )
    .version(VERSION)
    .exitOverride()
    // reportFailure prints errors; without this, commander would print them too.
    .configureOutput({ outputError: () => {} });

  const selected = Object.entries(GROUPS).filter(([name]) => name === firstWord);
  for (const [, load] of selected.length > 0 ? selected : Object.entries(GROUPS)) (await load())(program);
  return program;
}
