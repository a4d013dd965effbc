// `npm run generate -- openapi`: writes what is generated in this repository, one kind at a time. Tests check that all
// of it is up to date, but for the pictures.
import { Argument, Command } from 'commander';
import { VERSION } from '../src/release.ts';

const KINDS: Record<string, (words: string[]) => Promise<void>> = {
  openapi: async () => (await import('./generateOpenApi.ts')).writeOpenApi(),
  examples: async () => await (await import('./recordExamples.ts')).writeRecordedExamples(),
  clients: async (words) => (await import('./generateClients.ts')).writeClients(words.includes('check')),
  errors: async () => (await import('./generateErrorsDoc.ts')).writeErrors(),
  rails: async () => (await import('./generateRailsDoc.ts')).writeRails(),
  functions: async () => await (await import('./recordFunctionVersions.ts')).writeFunctionVersions(),
  screenshots: async (words) => await (await import('./screenshots.ts')).takeAll(words),
};

const DESCRIPTION = `Writes generated files:
  openapi      generated/openapi.json, from the routes
  examples     the examples of that document, from a run of its story; then openapi
  clients      the generated parts of clients/ and generated/llms.txt; "clients check" compares them instead
  errors       docs/errors.md and the page of errors that the API serves
  rails        docs/rails/capabilities.md
  functions    test/database/functionVersions.json, after an edit in src/ledger/sql
  screenshots  docs/images, with Chromium: all, or those of attention, reference, checkout or guide`;

await new Command('npm run generate --')
  .description(DESCRIPTION)
  .version(VERSION)
  .addArgument(new Argument('<kind>').choices(Object.keys(KINDS)))
  .argument('[words...]', 'for clients: check; for screenshots: groups of pictures')
  .action((kind: string, words: string[]) => KINDS[kind]?.(words))
  .parseAsync();
