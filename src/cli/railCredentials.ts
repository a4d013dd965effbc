// The credentials of a contract with a provider, from a file, the environment or a prompt: never from the command line,
// which other users of the machine can read.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Credentials, RailProvider } from '../rail/provider.ts';
import { PROVIDERS, providerNamed } from '../rail/providers.ts';
import { CommandError, EXIT } from './failure.ts';

/** The environment variable with the credentials, as JSON. */
export const CREDENTIALS = 'RAIL_CREDENTIALS';

/** For the help. */
export const PROVIDER_NAMES = `one of: ${PROVIDERS.map(({ name }) => name).join(', ')}`;

export function requireProvider(name: string): RailProvider {
  const provider = providerNamed(name);
  if (provider === null) throw new CommandError(`This version has no adapter for ${name}.`);
  return provider;
}

/** Reads and validates the credentials. No message of an error contains a value. */
export async function readCredentials(provider: RailProvider, file: string | undefined): Promise<Credentials> {
  const text = file === undefined ? process.env[CREDENTIALS] : readText(file);
  const given = text === undefined ? await promptFor(provider) : parseJson(text, file ?? CREDENTIALS);
  const parsed = provider.credentials.safeParse(given);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.') || 'the object');
  throw new CommandError(`These credentials are missing or invalid: ${[...new Set(fields)].join(', ')}.`, EXIT.usage);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as { code?: string }).code}).`, EXIT.usage);
  }
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${source} is not valid JSON.`, EXIT.usage);
  }
}

async function promptFor({ credentials }: RailProvider): Promise<Record<string, string>> {
  if (!process.stdin.isTTY) {
    throw new CommandError(`Give the credentials with --credentials FILE, or in ${CREDENTIALS}, as JSON.`, EXIT.usage);
  }
  const given: Record<string, string> = {};
  for (const [name, field] of Object.entries(credentials.shape)) {
    const isSecret = field.meta()?.secret !== false;
    const value = await ask(`${name} (${field.description ?? 'required'}): `, isSecret);
    if (value !== '') given[name] = value;
  }
  return given;
}

/**
 * Asks for a value; a secret is not shown while it is typed. Only for a process whose standard input is a terminal.
 */
export async function ask(question: string, isSecret: boolean): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({
    input: process.stdin,
    output: isSecret ? silent : process.stderr,
    terminal: true,
  });
  // After the terminal was taken over: what is typed before that is shown.
  if (isSecret) process.stderr.write(question);
  try {
    return (await terminal.question(isSecret ? '' : question)).trim();
  } finally {
    terminal.close();
    if (isSecret) process.stderr.write('\n');
  }
}
