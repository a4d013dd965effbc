// The command line of operators and developers. Each group of commands has a file of its own beside this one, which is
// loaded when it is needed: a command starts in half the time when it does not wait for what the others need.
import { Command } from 'commander';

/** How each group adds its commands, by the first word of a command line. In the order of the help. */
const GROUPS: Record<string, () => Promise<(program: Command) => void>> = {
  organisations: async () => (await import('./organisations.ts')).addOrganisationCommands,
  keys: async () => (await import('./keys.ts')).addKeyCommands,
  migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
  wallets: async () => (await import('./wallets.ts')).addWalletCommands,
  ledger: async () => (await import('./ledger.ts')).addLedgerCommands,
  attention: async () => (await import('./attention.ts')).addAttentionCommands,
  flows: async () => (await import('./flows.ts')).addFlowCommands,
  rail: async () => (await import('./rail.ts')).addRailCommands,
  reviews: async () => (await import('./reviews.ts')).addReviewCommands,
  reconciliation: async () => (await import('./reconciliation.ts')).addReconciliationCommands,
};

/** The program for this first word of a command line. One that names no group has them all: it may ask for help. */
export async function createProgram(firstWord?: string): Promise<Command> {
  const program = new Command('npm run cli --')
    .description('Commands to set up, run and look after Manilla. They read DATABASE_URL, or what `npm start` wrote.')
    .exitOverride()
    // reportFailure prints the one line of an error; commander would print it a second time.
    .configureOutput({ outputError: () => {} });

  const wanted = Object.entries(GROUPS).filter(([name]) => name === firstWord);
  for (const [, load] of wanted.length > 0 ? wanted : Object.entries(GROUPS)) (await load())(program);
  return program;
}
