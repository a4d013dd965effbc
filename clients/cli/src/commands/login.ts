// `login` and `logout`: the test key and the address of the sandbox, checked with the API before they are stored.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { dataOf } from '../../../typescript/src/index.ts';
import { addCommand } from '../command.ts';
import { CommandError, EXIT } from '../failure.ts';
import { createOutput } from '../output.ts';
import { connect, givenKey, givenUrl, requireTestKey, type SessionOptions, URL_DEFAULT } from '../session.ts';
import { deleteSettings, readSettings, writeSettings } from '../settings.ts';

/** Written by `npm start`, in the folder of the service. */
const QUICKSTART = '.manilla/quickstart.json';

export function addLoginCommands(program: Command, signal: AbortSignal): void {
  addCommand(program, 'login', 'store a test key and the address of the sandbox', 'login --quickstart')
    .option('--quickstart', `take both from ${QUICKSTART}, which \`npm start\` writes in this folder`)
    .action(async (options: SessionOptions & { quickstart?: true }) => {
      const output = createOutput(options.json === true);
      const { url, apiKey } = options.quickstart
        ? readQuickstart()
        : {
            url: givenUrl(options.url) ?? readSettings(process.env).url ?? URL_DEFAULT,
            apiKey: (await givenKey(options.apiKeyFile)) ?? requireTestKey(await askForKey(signal), 'the terminal'),
          };
      const client = connect(url, apiKey, signal);
      const { environment, version } = await dataOf(client.GET('/health'));
      if (environment !== 'test') throw new CommandError(`${url} is a live host. Give that of the sandbox: --url.`);
      await dataOf(client.GET('/banks')); // any key may: it tells whether this one is known
      const file = writeSettings(process.env, { ...readSettings(process.env), url, apiKey });
      const line = `Logged in at ${url} (version ${version}). The key is in ${file}, readable by you only.`;
      output.result({ url, version, file }, line);
    });

  program
    .command('logout')
    .description('delete the stored key, address and signing secret')
    .option('--json', 'print one JSON document a line, for programs')
    .action(({ json }: { json?: true }) => {
      const file = deleteSettings(process.env);
      createOutput(json === true).result({ file }, `Logged out: ${file} is deleted.`);
    });
}

function readQuickstart(): { url: string; apiKey: string } {
  let quickstart: { sandboxBaseUrl?: string; testApiKey?: string };
  try {
    quickstart = JSON.parse(readFileSync(QUICKSTART, 'utf8'));
  } catch (error) {
    const message = `${QUICKSTART} cannot be read (${String(error)}). Run \`npm start\`, and this in the same folder.`;
    throw new CommandError(message, EXIT.usage);
  }
  const url = givenUrl(quickstart.sandboxBaseUrl) ?? URL_DEFAULT;
  return { url, apiKey: requireTestKey(quickstart.testApiKey ?? '', QUICKSTART) };
}

/** Asks on the terminal, without showing what is typed. */
async function askForKey(signal: AbortSignal): Promise<string> {
  if (!process.stdin.isTTY) {
    const message = 'Give a test key: MANILLA_API_KEY, --api-key-file FILE (- for standard input), or --quickstart.';
    throw new CommandError(message, EXIT.usage);
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  // Ctrl-C is a key here, not a signal.
  const stop = new AbortController();
  terminal.once('SIGINT', () => stop.abort());
  // After the terminal was taken over: what is typed before that is shown.
  process.stderr.write('Test key (svc_test_…): ');
  try {
    return await terminal.question('', { signal: AbortSignal.any([signal, stop.signal]) });
  } catch {
    throw new CommandError('No key was given.', EXIT.interrupted);
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
