// The `.manilla` folder: the data and secrets of `npm start`, and the lock file that names its running processes. One
// `npm start` at a time holds the lock.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identify, isRunning, type ProcessIdentity, readLock, tryLock } from './lockFile.mjs';

/** `quickstart.json`: what `npm start` prints, for programs. */
export interface Quickstart {
  sandboxBaseUrl: string;
  liveBaseUrl: string;
  testApiKey: string;
  liveApiKey: string;
  organisationId: string;
  settlementWalletId: string;
  liveSettlementWalletId: string;
  temporalAddress: string;
  temporalUiUrl: string;
  databaseUrl: string;
  ownerDatabaseUrl: string;
  /** The key of the operator `quickstart`, with all scopes, who runs the commands of this machine. */
  operatorKey: string;
}

/** The demo organisation with its keys, created once for each database. */
export type DemoOrganisation = Pick<
  Quickstart,
  'organisationId' | 'settlementWalletId' | 'liveSettlementWalletId' | 'testApiKey' | 'liveApiKey'
>;

/** `secrets.json`: survives a restart, readable by the user only. */
export interface Secrets {
  /** MANILLA_KEYS of the service: without it, encrypted columns of the database cannot be decrypted. */
  manillaKeys: string;
  databasePassword: string;
  /** By database: `embedded`, or the DATABASE_URL that the user set. */
  organisations: Record<string, DemoOrganisation>;
  /** By database, likewise. */
  operatorKeys: Record<string, string>;
}

/** `running.json`: the process that holds the lock, since when, and the child processes it runs. */
export interface LockHolder extends ProcessIdentity {
  since: string;
  processes: (ProcessIdentity & { name: string })[];
}

export class StateFolder {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(name: string): string {
    return path.join(this.folder, name);
  }

  /** Returns the running process that holds the lock, or undefined. */
  lockHolder(): LockHolder | undefined {
    const lock = readLock(this.#lock);
    return lock !== undefined && isRunning(lock) ? asLockHolder(lock) : undefined;
  }

  /**
   * Takes the lock. Returns the stale lock of a start that was killed, if there was one, or the process that holds the
   * lock.
   */
  lock(): { acquired: true; left: LockHolder | undefined } | { acquired: false; holder: LockHolder } {
    // For this user alone: Postgres, Temporal and the logs do not all restrict their files.
    mkdirSync(this.folder, { recursive: true });
    chmodSync(this.folder, 0o700);
    const attempt = tryLock(this.#lock);
    if (!attempt.taken) return { acquired: false, holder: asLockHolder(attempt.holder) };
    const left = attempt.left === undefined ? undefined : asLockHolder(attempt.left);
    // Its processes stay in the lock file until they are ended, in case this start is killed as well.
    this.note(left?.processes ?? []);
    return { acquired: true, left };
  }

  /** Writes the running processes into the lock file, for the next start in case this one is killed. */
  note(processes: LockHolder['processes']): void {
    const self = identify(process.pid);
    if (self === undefined) return;
    this.#write('running.json', { ...self, since: this.#since, processes });
  }

  unlock(): void {
    if (readLock(this.#lock)?.pid === process.pid) rmSync(this.#lock, { force: true });
  }

  /** The secrets of this folder, created on the first call. */
  secrets(): Secrets {
    const stored = this.#read<Partial<Secrets>>('secrets.json') ?? {};
    const secrets: Secrets = {
      manillaKeys: stored.manillaKeys ?? `k1:${randomBytes(32).toString('base64url')}`,
      databasePassword: stored.databasePassword ?? randomBytes(18).toString('hex'),
      organisations: stored.organisations ?? {},
      operatorKeys: stored.operatorKeys ?? {},
    };
    if (stored.manillaKeys === undefined || stored.databasePassword === undefined) this.#write('secrets.json', secrets);
    return secrets;
  }

  keepOrganisation(database: string, organisation: DemoOrganisation): void {
    const secrets = this.secrets();
    this.#write('secrets.json', {
      ...secrets,
      organisations: { ...secrets.organisations, [database]: organisation },
    });
  }

  keepOperatorKey(database: string, key: string): void {
    const secrets = this.secrets();
    this.#write('secrets.json', { ...secrets, operatorKeys: { ...secrets.operatorKeys, [database]: key } });
  }

  /** The ports of the last start, by their settings. */
  ports(): Record<string, number> {
    return this.#read<Record<string, number>>('ports.json') ?? {};
  }

  keepPorts(ports: Record<string, number>): void {
    this.#write('ports.json', ports);
  }

  /**
   * Written once the service is healthy and removed when the next start begins: while it exists, its content is valid.
   */
  writeQuickstart(quickstart: Quickstart): void {
    this.#write('quickstart.json', quickstart);
  }

  removeQuickstart(): void {
    rmSync(this.path('quickstart.json'), { force: true });
  }

  quickstart(): Quickstart | undefined {
    return this.#read<Quickstart>('quickstart.json');
  }

  readonly #since = new Date().toISOString();

  get #lock(): string {
    return this.path('running.json');
  }

  #read<Content>(name: string): Content | undefined {
    let text: string;
    try {
      text = readFileSync(this.path(name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      return JSON.parse(text) as Content;
    } catch (error) {
      throw new Error(`${this.path(name)} is not valid JSON; restore its previous content.`, { cause: error });
    }
  }

  #write(name: string, content: unknown): void {
    const file = this.path(name);
    // Mode 0600 from the start, and replaced atomically.
    writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

function asLockHolder(lock: ProcessIdentity & Record<string, unknown>): LockHolder {
  return { since: 'a moment ago', processes: [], ...lock };
}
