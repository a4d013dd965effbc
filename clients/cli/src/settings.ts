// What the command line keeps between commands: the address of the sandbox, the test key and the secret that `listen`
// signs with, in the user's folder for settings, readable by the user only.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CommandError, EXIT } from './failure.ts';

export interface Settings {
  /** The base address of the sandbox, ending in `/v1`. */
  url?: string;
  apiKey?: string;
  /** `whsec_…`, of Standard Webhooks. Made by the first `listen`. */
  listenSecret?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `manilla/config.json` in XDG_CONFIG_HOME, or in ~/.config where that is unset or, as XDG says, relative. */
export function settingsFile({ XDG_CONFIG_HOME = '', HOME }: Environment): string {
  const folder = path.isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : path.join(HOME ?? homedir(), '.config');
  return path.join(folder, 'manilla', 'config.json');
}

/** Throws CommandError for a file that is not what `writeSettings` writes. */
export function readSettings(environment: Environment): Settings {
  const file = settingsFile(environment);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Settings;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new CommandError(`${file} cannot be read (${String(error)}). Write it again: manilla login`, EXIT.usage);
  }
}

/** Writes the file as a whole, so that a crash leaves the old one, and never with more rights than the user's own. */
export function writeSettings(environment: Environment, settings: Settings): string {
  const file = settingsFile(environment);
  const draft = `${file}.${process.pid}`;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
  return file;
}

/** Deletes the file. Returns its path. */
export function deleteSettings(environment: Environment): string {
  const file = settingsFile(environment);
  rmSync(file, { force: true });
  return file;
}

/** Standard Webhooks requires 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** The secret that `listen` signs with; made and stored when there is none. */
export function listenSecret(environment: Environment): string {
  const settings = readSettings(environment);
  if (settings.listenSecret !== undefined) return settings.listenSecret;
  const made = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  writeSettings(environment, { ...settings, listenSecret: made });
  return made;
}
