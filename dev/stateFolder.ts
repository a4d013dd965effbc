// The `.manilla` folder: where the quick start keeps its data, its secrets and the note of what runs. One `npm start` at
// a time has it.
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identify, isRunning, type ProcessIdentity, readLock, tryLock } from './lockFile.mjs';

/** What `npm start` prints, for programs. */
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
}

/** The demo organisation with its keys, made once for each database. */
export type DemoOrganisation = Pick<
  Quickstart,
  'organisationId' | 'settlementWalletId' | 'liveSettlementWalletId' | 'testApiKey' | 'liveApiKey'
>;

/** What must outlive a restart and stay between us and the user. */
export interface Secrets {
  /** MANILLA_KEYS of the service: without it, what is encrypted in the database cannot be read. */
  manillaKeys: string;
  databasePassword: string;
  /** By database: `embedded`, or the URL of one of the user's own. */
  organisations: Record<string, DemoOrganisation>;
}

/** Who has the folder: the start script, what it runs, and since when. */
export interface LockHolder extends ProcessIdentity {
  since: string;
  parts: (ProcessIdentity & { name: string })[];
}

export class StateFolder {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(name: string): string {
    return path.join(this.folder, name);
  }

  /** Who runs in the folder now, if anybody. */
  lockHolder(): LockHolder | undefined {
    const lock = readLock(this.#lock);
    return lock !== undefined && isRunning(lock) ? asLockHolder(lock) : undefined;
  }

  /** Takes the folder. Returns what a start that was killed had noted down, or who has the folder. */
  lock(): { occupied: true; left: LockHolder | undefined } | { occupied: false; by: LockHolder } {
    const attempt = tryLock(this.#lock);
    if (!attempt.taken) return { occupied: false, by: asLockHolder(attempt.holder) };
    const left = attempt.left === undefined ? undefined : asLockHolder(attempt.left);
    // Carried over until they are ended, should this start be killed as well.
    this.note(left?.parts ?? []);
    return { occupied: true, left };
  }

  /** Notes which processes run, for the next start in case this one is killed. */
  note(parts: LockHolder['parts']): void {
    const self = identify(process.pid);
    if (self === undefined) return;
    this.#write('running.json', { ...self, since: this.#since, parts });
  }

  unlock(): void {
    if (readLock(this.#lock)?.pid === process.pid) rmSync(this.#lock, { force: true });
  }

  /** The secrets of this folder, made at the first call. */
  secrets(): Secrets {
    const kept = this.#read<Partial<Secrets>>('secrets.json') ?? {};
    const secrets: Secrets = {
      manillaKeys: kept.manillaKeys ?? `k1:${randomBytes(32).toString('base64url')}`,
      databasePassword: kept.databasePassword ?? randomBytes(18).toString('hex'),
      organisations: kept.organisations ?? {},
    };
    if (kept.manillaKeys === undefined || kept.databasePassword === undefined) this.#write('secrets.json', secrets);
    return secrets;
  }

  keepOrganisation(database: string, organisation: DemoOrganisation): void {
    const secrets = this.secrets();
    this.#write('secrets.json', {
      ...secrets,
      organisations: { ...secrets.organisations, [database]: organisation },
    });
  }

  /** Written when the service is healthy and removed when the next start begins: whoever finds it can use it. */
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
      throw new Error(`${this.path(name)} is no longer JSON; put back what was there.`, { cause: error });
    }
  }

  #write(name: string, content: unknown): void {
    const file = this.path(name);
    // Private from its first byte, and never half written.
    writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

function asLockHolder(lock: ProcessIdentity & Record<string, unknown>): LockHolder {
  return { since: 'a moment ago', parts: [], ...lock };
}
