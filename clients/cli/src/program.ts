// The program `manilla`: its commands.
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addEventCommands } from './commands/events.ts';
import { addListenCommand } from './commands/listen.ts';
import { addLoginCommands } from './commands/login.ts';
import { addLogCommands } from './commands/logs.ts';
import { addPayCommand } from './commands/pay.ts';
import { addTriggerCommand } from './commands/trigger.ts';

/** `package.json` is two folders above in the repository and four in the published package (build.ts). */
function packageVersion(): string {
  const here = import.meta.url.endsWith('.ts') ? '../package.json' : '../../../package.json';
  return (JSON.parse(readFileSync(new URL(here, import.meta.url), 'utf8')) as { version: string }).version;
}

/** Returns the program. `signal` is aborted by Ctrl-C. */
export function createProgram(signal: AbortSignal): Command {
  const program = new Command('manilla')
    .description('Develop against the sandbox of Manilla: over HTTP, with a test key.')
    .version(packageVersion())
    .exitOverride()
    // reportFailure prints errors; without this, commander would print them too.
    .configureOutput({ outputError: () => {} });
  addLoginCommands(program, signal);
  addListenCommand(program, signal);
  addTriggerCommand(program, signal);
  addEventCommands(program, signal);
  addLogCommands(program, signal);
  addPayCommand(program, signal);
  return program;
}
