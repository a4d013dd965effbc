// The databases of a drill: a primary and a synchronous standby, which are not started again by themselves.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { stateFolderPath } from '../../src/cli/settings.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { OWNER, type PostgresServer, startPostgres, startServer, urlsOf } from '../postgres.ts';
import { locateFiles } from '../postgresFiles.ts';
import { requireSynchronous, startStandby } from '../standby.ts';
import { Supervisor } from '../supervisor.ts';
import { until } from '../until.ts';

const ENDED_WITHIN_MS = 10_000;

/** One server, and where its files are. */
export interface DrillServer extends PostgresServer {
  name: string;
  folder: string;
}

interface StartOptions {
  /** Used when it is free. */
  port?: number;
  /** Further settings of the server. */
  settings?: Record<string, string>;
  /** The environment of the server; default: that of this process. */
  env?: NodeJS.ProcessEnv;
}

export class DrillServers {
  readonly #folder: string;
  readonly #password = randomBytes(12).toString('hex');
  readonly #supervisor: Supervisor;
  #pids = new Map<string, number>();

  constructor(say: (line: string) => void, logFolder?: string) {
    mkdirSync(stateFolderPath(), { recursive: true });
    this.#folder = mkdtempSync(path.join(stateFolderPath(), 'drill-'));
    chmodSync(this.#folder, 0o711); // Postgres may run as another account
    this.#supervisor = new Supervisor({
      logFolder: logFolder ?? path.join(this.#folder, 'logs'),
      say,
      onChange: (running) => {
        this.#pids = new Map(running.map(({ name, pid }) => [name, pid]));
      },
    });
    this.#supervisor.removeAtEnd(this.#folder);
  }

  /** Where the files of a server are, or can be created. */
  folderOf(name: string): string {
    return path.join(this.#folder, name);
  }

  /** Starts a server on its files, which are created when they are missing. */
  async start(name: string, { port, settings, env }: StartOptions = {}): Promise<DrillServer> {
    const options = { ...this.#optionsOf(name, env), portPreferred: port, ...(settings && { settings }) };
    return this.#started(name, options.folder, await startPostgres(this.#supervisor, options));
  }

  /** Starts a server on a base backup, with the settings of its recovery. */
  async recover(name: string, settings: Record<string, string>): Promise<DrillServer> {
    const options = this.#optionsOf(name);
    const files = await locateFiles(options.folder);
    const { adminUrl, port } = await startServer(this.#supervisor, { ...options, ...files, settings });
    return this.#started(name, options.folder, { ...urlsOf(adminUrl), port });
  }

  /** Starts a synchronous standby of a primary. */
  async follow(name: string, primary: DrillServer, env?: NodeJS.ProcessEnv): Promise<DrillServer> {
    const options = { ...this.#optionsOf(name, env), primary };
    const server = this.#started(name, options.folder, await startStandby(this.#supervisor, options));
    await requireSynchronous(primary.adminUrl, name);
    return server;
  }

  #optionsOf(name: string, env?: NodeJS.ProcessEnv) {
    const options = { name, folder: this.folderOf(name), password: this.#password, durability: 'durable' } as const;
    return { ...options, ...(env && { env }) };
  }

  #started(name: string, folder: string, server: PostgresServer): DrillServer {
    this.#supervisor.removeAtEnd(realpathSync(folder));
    return { ...server, name, folder };
  }

  /** Runs `work` on the database of a server, as its owner. */
  async withOwner<Result>(server: DrillServer, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const sql = connect(server.ownerUrl, { connectionsMax: 1, role: 'owner' });
    try {
      return await work(sql);
    } finally {
      await sql.end();
    }
  }

  removeAtEnd(folder: string): void {
    this.#supervisor.removeAtEnd(folder);
  }

  /** As a crash: `kill -9` of the server process, with which its backends end. */
  async kill({ name }: DrillServer): Promise<void> {
    const pid = this.#pids.get(name);
    if (pid === undefined) throw new Error(`${name} does not run`);
    process.kill(pid, 'SIGKILL');
    await until(`${name} to end`, () => !this.#pids.has(name) || undefined, ENDED_WITHIN_MS);
  }

  async dismiss({ name }: DrillServer): Promise<void> {
    await this.#supervisor.dismiss(name);
  }

  async stop(): Promise<void> {
    await this.#supervisor.stop();
  }
}

/** The URLs of the database on several servers, as DATABASE_URL takes them. */
export function urlsOfAll(servers: readonly DrillServer[]): { url: string; ownerUrl: string } {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const several = (url: string): string => url.replace(/@[^/]+\//, `@${hosts}/`);
  const [first] = servers;
  if (first === undefined) throw new Error(`no server has the database ${OWNER}`);
  return { url: several(first.url), ownerUrl: several(first.ownerUrl) };
}
