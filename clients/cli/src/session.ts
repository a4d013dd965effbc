// A session with the sandbox: which key and address a command uses, and the client that it calls the API with.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { createManilla } from '../../typescript/src/index.ts';
import { parseApiUrl } from './arguments.ts';
import { CommandError, EXIT } from './failure.ts';
import { createOutput, type Output } from './output.ts';
import { readSettings } from './settings.ts';

export type Manilla = ReturnType<typeof createManilla>;

/** The options of every command that calls the API. */
export interface SessionOptions {
  json?: true;
  url?: string;
  apiKeyFile?: string;
}

export interface Session {
  client: Manilla;
  url: string;
  output: Output;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}

/** Where `npm start` listens. */
export const URL_DEFAULT = 'http://127.0.0.1:8080/v1';

const TEST_KEY = /^svc_test_[0-9A-Za-z]{43}$/;

/** The key, without its line end. Throws CommandError, which does not have the key, unless it is a test key. */
export function requireTestKey(given: string, origin: string): string {
  const key = given.trim();
  if (key.startsWith('svc_live_')) {
    throw new CommandError(
      `The key of ${origin} is a live key, and this program takes test keys only: it moves money at will.`,
      EXIT.usage,
    );
  }
  if (!TEST_KEY.test(key)) {
    throw new CommandError(`${origin} has no test key: one is svc_test_ and 43 letters and digits.`, EXIT.usage);
  }
  return key;
}

/** The key in a file; `-` is standard input, read as a stream: a pipe may not have its text yet. */
async function readKeyFile(file: string): Promise<string> {
  const origin = file === '-' ? 'standard input' : file;
  try {
    return requireTestKey(await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')), origin);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${origin} cannot be read (${String(error)}).`, EXIT.usage);
  }
}

/** The address from --url or MANILLA_URL; undefined when neither is given. */
export function givenUrl(option: string | undefined): string | undefined {
  const address = option ?? (process.env.MANILLA_URL || undefined);
  if (address === undefined) return undefined;
  const url = parseApiUrl(address);
  if (url === null) throw new CommandError(`${address} is not an address of HTTP, such as ${URL_DEFAULT}.`, EXIT.usage);
  return url;
}

/** The key from --api-key-file or MANILLA_API_KEY; undefined when neither is given. */
export async function givenKey(file: string | undefined): Promise<string | undefined> {
  if (file !== undefined) return await readKeyFile(file);
  const key = process.env.MANILLA_API_KEY;
  return key === undefined || key === '' ? undefined : requireTestKey(key, 'MANILLA_API_KEY');
}

/** A client whose requests end with the signal. */
export function connect(url: string, apiKey: string, signal: AbortSignal): Manilla {
  const client = createManilla({ baseUrl: url, apiKey });
  client.use({ onRequest: ({ request }) => new Request(request, { signal }) });
  return client;
}

/** Throws CommandError when there is no key. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const settings = readSettings(process.env);
  const url = givenUrl(options.url) ?? settings.url ?? URL_DEFAULT;
  const apiKey = (await givenKey(options.apiKeyFile)) ?? settings.apiKey;
  if (apiKey === undefined) {
    throw new CommandError('There is no key. Log in: manilla login; or set MANILLA_API_KEY.', EXIT.usage);
  }
  const output = createOutput(options.json === true);
  return { client: connect(url, requireTestKey(apiKey, 'the settings'), signal), url, output, signal };
}
