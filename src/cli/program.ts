// The command line of operators and developers. Each group of commands has a file of its own beside this one; here they are
// only put together.
import { Command } from 'commander';
import { addAttentionCommands } from './attention.ts';
import { addFlowCommands } from './flows.ts';
import { addKeyCommands } from './keys.ts';
import { addLedgerCommands } from './ledger.ts';
import { addMigrateCommand } from './migrate.ts';
import { addOrganisationCommands } from './organisations.ts';
import { addRailCommands } from './rail.ts';
import { addReconciliationCommands } from './reconciliation.ts';
import { addReviewCommands } from './reviews.ts';
import { addWalletCommands } from './wallets.ts';

export function createProgram(): Command {
  const program = new Command('npm run cli --')
    .description('Commands to set up, run and look after Manilla. They read DATABASE_URL, or what `npm start` wrote.')
    .exitOverride()
    // reportFailure prints the one line of an error; commander would print it a second time.
    .configureOutput({ outputError: () => {} });

  addOrganisationCommands(program);
  addKeyCommands(program);
  addMigrateCommand(program);
  addWalletCommands(program);
  addLedgerCommands(program);
  addAttentionCommands(program);
  addFlowCommands(program);
  addRailCommands(program);
  addReviewCommands(program);
  addReconciliationCommands(program);
  return program;
}
