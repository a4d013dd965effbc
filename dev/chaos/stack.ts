// The stack of a chaos run: a Postgres and a Temporal server of its own, two APIs and two workers, and a TCP proxy on
// each connection that can be cut. Uses free ports and a folder of its own, which is removed at the end.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stateFolderPath } from '../../src/cli/settings.ts';
import { migrate } from '../../src/database/migrate.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { DEFAULT_NAMESPACE } from '../../src/temporal/profile.ts';
import { freePort } from '../freePort.ts';
import { startPostgres } from '../postgres.ts';
import { childrenOf } from '../processes.ts';
import { Supervisor } from '../supervisor.ts';
import { startTemporal, workerPolls } from '../temporal.ts';
import { findTemporal } from '../temporalInstall.mjs';
import { until } from '../until.ts';
import { APPLICATIONS, type Application, isWorker, LINKS, type Link, type Part, type Plan } from './plan.ts';
import { startTcpProxy, type TcpProxy } from './tcpProxy.ts';

const THIS_RELEASE = fileURLToPath(new URL('../..', import.meta.url));
/** What every application loads first. */
const PRELOADED = ['clock.mjs', 'shortTimes.mjs'].map((name) => new URL(name, import.meta.url).href);
const TASK_QUEUE = 'chaos';
const RESTART_DELAY_MS = 300;
/** A full disk ends Postgres again and again. More than this is a process that cannot start. */
const CRASHES_MAX = 15;
const HEALTHY_WITHIN_MS = 60_000;
/** An application that has not stopped after this time is killed. */
export const STOP_WITHIN_MS = 15_000;

/** Waits are short, so that a run of a minute sees retries, parked flows, sweeps and expiries. */
const SETTINGS = {
  TEMPORAL_TASK_QUEUE: TASK_QUEUE,
  DATABASE_CONNECTIONS_MAX: '5',
  RATE_LIMIT_PER_MINUTE: '1000000',
  // The same of all APIs, so that they show a payment alike.
  SANDBOX_CHECKOUT_URL: 'https://pay.example.com',
  LIVE_CHECKOUT_URL: 'https://pay.example.com',
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
  // More attempts than faults can spoil.
  WEBHOOK_RETRY_GAPS_SECONDS: Array.from({ length: 60 }, (_, attempt) => Math.min(5, 1 + attempt / 2)).join(','),
  SANDBOX_RAIL_DELAY_MS: '20',
  ATTENTION_RAIL_UNREACHABLE_SECONDS: '5',
  CREDIT_POLLING_EVERY_SECONDS: '10',
  RECONCILIATION_EVERY_SECONDS: '20',
  LEDGER_VERIFICATION_EVERY_SECONDS: '30',
  LOG_LEVEL: 'warn',
} as const;

export interface ChaosStack {
  /** Base URLs of the sandbox APIs: through the proxies, as the callers reach them, and directly. */
  apiUrls: string[];
  directUrls: string[];
  /** The same of the live APIs; their links are cut with those of the sandbox. */
  live: { apiUrls: string[]; directUrls: string[]; callbackUrls: string[] };
  links: Record<Link, TcpProxy>;
  /** The folder of its files, which is removed at the end. */
  folder: string;
  ownerUrl: string;
  /** As the database owner, not through a proxy. */
  sql: Sql;
  temporalAddress: string;
  /** The environment of the command line, without an operator's key. */
  settings: NodeJS.ProcessEnv;
  /** The processes of a part at this moment; empty while it is being started again. */
  pidsOf: (part: Part) => number[];
  /** Resolves once all parts run and respond. */
  untilHealthy: () => Promise<void>;
  /** Stops the applications, as a deployment does, until they are started again. */
  stopApplications: () => Promise<void>;
  startApplications: () => Promise<void>;
  /**
   * Stops an application, as a deployment does, and starts it, from the folder of another release if it is given.
   * Returns how long it took to stop.
   */
  replace: (part: Application, release?: string) => Promise<number>;
  /** Runs `act` on the files of Temporal while it does not run, after `kill -9`. */
  whileTemporalIsDown: (act: (databaseFile: string) => void) => Promise<void>;
  stop: () => Promise<void>;
}

interface Options {
  clocks: Plan['clocks'];
  /** For the logs of the processes; default: the folder that is removed. */
  logFolder?: string | undefined;
  say: (line: string) => void;
  /** A process has crashed too often to be started again. */
  onGiveUp: (reason: string) => void;
  /** Over SETTINGS. */
  settings?: NodeJS.ProcessEnv | undefined;
  /** A database that is not the stack's own: its applications connect to it directly. */
  database?: { url: string; ownerUrl: string } | undefined;
}

export async function startChaosStack({ clocks, say, onGiveUp, ...options }: Options): Promise<ChaosStack> {
  mkdirSync(stateFolderPath(), { recursive: true });
  const folder = mkdtempSync(path.join(stateFolderPath(), 'chaos-'));
  chmodSync(folder, 0o711); // Postgres may run as another account
  const logFolder = options.logFolder ?? path.join(folder, 'logs');
  let running: { pid: number; name: string }[] = [];
  const supervisor = new Supervisor({
    logFolder,
    say,
    onChange: (now) => {
      running = now;
    },
    onGiveUp,
    restartDelayMs: RESTART_DELAY_MS,
    crashesMax: CRASHES_MAX,
  });
  supervisor.removeAtEnd(folder);
  const proxies: TcpProxy[] = [];
  const openProxy = async (url: string): Promise<TcpProxy> => {
    const proxy = await startTcpProxy(url);
    proxies.push(proxy);
    return proxy;
  };

  const startOwn = async () => {
    const own = { folder: path.join(folder, 'postgres'), password: randomBytes(12).toString('hex') };
    const server = await startPostgres(supervisor, { ...own, durability: 'durable' });
    supervisor.removeAtEnd(realpathSync(own.folder));
    return server;
  };
  const [program, databaseFile] = [await findTemporal({ say }), path.join(folder, 'temporal.db')];
  const [database, temporal] = await Promise.all([
    options.database ?? startOwn(),
    startTemporal(supervisor, { program, databaseFile }),
  ]);
  const urls = { DATABASE_URL: database.url, OWNER_DATABASE_URL: database.ownerUrl };
  await migrate(database.ownerUrl);
  const sql = connect(database.ownerUrl, { connectionsMax: 3, role: 'owner' });

  const ports: number[] = [];
  while (ports.length < 4) ports.push(await freePort(undefined, ports));
  const directUrls = ports.slice(0, 2).map((port) => `http://127.0.0.1:${port}/v1`);
  const targets: Record<'api-1' | 'api-2' | 'postgres' | 'temporal', string> = {
    'api-1': directUrls[0] ?? '',
    'api-2': directUrls[1] ?? '',
    postgres: database.url,
    temporal: `tcp://${temporal.address}`,
  };
  const links = Object.fromEntries(
    await Promise.all(
      LINKS.filter((link) => options.database === undefined || !link.endsWith('postgres')).map(async (link) => {
        const target = targets[link.split(' to ')[1] as keyof typeof targets];
        return [link, await openProxy(target)];
      }),
    ),
  ) as Record<Link, TcpProxy>;
  const liveUrls = ports.slice(2).map((port) => `http://127.0.0.1:${port}/v1`);
  const openLive = (link: (name: string) => Link): Promise<string[]> =>
    Promise.all(
      liveUrls.map(async (url, index) => {
        const [name, proxy] = [link(`api-${index + 1}`), await openProxy(url)];
        links[name] = together(links[name], proxy);
        return proxy.url;
      }),
    );
  const live = {
    apiUrls: await openLive((api) => `callers to ${api}` as Link),
    directUrls: liveUrls,
    callbackUrls: await openLive((api) => `bank to ${api}` as Link),
  };

  const common: NodeJS.ProcessEnv = {
    ...process.env,
    ...SETTINGS,
    ...options.settings,
    MANILLA_KEYS: `chaos:${randomBytes(32).toString('base64url')}`,
    TEMPORAL_ADDRESS: temporal.address,
  };
  const settingsOf = (part: Application): NodeJS.ProcessEnv => {
    const stack = part.endsWith('1') ? 1 : 2;
    return {
      ...common,
      NODE_OPTIONS: [
        options.settings?.NODE_OPTIONS ?? process.env.NODE_OPTIONS ?? '',
        ...PRELOADED.map((url) => `--import ${url}`),
      ].join(' '),
      CLOCK_OFF_MS: String(clocks[part]),
      DATABASE_URL: options.database?.url ?? links[`${part} to postgres`].url,
      ...(isWorker(part) && { TEMPORAL_ADDRESS: new URL(links[`${part} to temporal`].url).host }),
      SANDBOX_PORT: String(ports[stack - 1]),
      LIVE_PORT: String(ports[stack + 1]),
      SANDBOX_RAIL_CALLBACK_URL: `${links[`bank to api-${stack}`].url}/rails/sandbox/callbacks`,
    };
  };
  const polls = (since: Date): Promise<boolean> => workerPolls(temporal.address, DEFAULT_NAMESPACE, TASK_QUEUE, since);
  const startApplication = async (part: Application, release = THIS_RELEASE): Promise<void> => {
    await supervisor.start({
      name: part,
      kind: 'application',
      command: process.execPath,
      args: [path.join(release, 'src', isWorker(part) ? 'worker' : 'api', 'main.ts')],
      env: settingsOf(part),
      stopSignal: 'SIGTERM',
      stopWithinMs: STOP_WITHIN_MS,
      readyWithinMs: 60_000,
      isReady: (startedAt) => (isWorker(part) ? polls(startedAt) : isHealthy(targets[part])),
    });
  };
  const startApplications = async (): Promise<void> => {
    await Promise.all(APPLICATIONS.map((part) => startApplication(part)));
  };
  await startApplications();

  return {
    apiUrls: [links['callers to api-1'].url, links['callers to api-2'].url],
    directUrls,
    live,
    links,
    folder,
    ownerUrl: database.ownerUrl,
    sql,
    temporalAddress: temporal.address,
    settings: { ...common, ...urls, TEMPORAL_ADDRESS: temporal.address, MANILLA_HOME: folder },
    pidsOf: (part) =>
      running
        .filter(({ name }) => name === part)
        .flatMap(({ pid }) => (part === 'postgres' ? [pid, ...childrenOf(pid)] : [pid])),
    untilHealthy: async () => {
      const since = new Date();
      const checks = [...directUrls.map((url) => () => isHealthy(url)), () => polls(since)];
      for (const check of checks) {
        const passes = () =>
          check().then(
            (passed) => passed || undefined,
            () => undefined,
          );
        await until('the stack to be healthy', passes, HEALTHY_WITHIN_MS);
      }
    },
    startApplications,
    stopApplications: async () => {
      await Promise.all(APPLICATIONS.map((part) => supervisor.dismiss(part)));
    },
    replace: async (part, release) => {
      const startedAt = performance.now();
      await supervisor.dismiss(part);
      const stoppedInMs = performance.now() - startedAt;
      await startApplication(part, release);
      return stoppedInMs;
    },
    whileTemporalIsDown: async (act) => {
      for (const { name, pid } of running) if (name === 'temporal') process.kill(pid, 'SIGKILL');
      await supervisor.dismiss('temporal');
      act(databaseFile);
      await startTemporal(supervisor, { program, databaseFile, portPreferred: Number(temporal.address.split(':')[1]) });
    },
    stop: async () => {
      await sql.end({ timeout: 1 });
      await supervisor.stop();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}

/** One link of two ports. */
function together(one: TcpProxy, other: TcpProxy): TcpProxy {
  const both = (act: (proxy: TcpProxy) => void) => (): void => {
    act(one);
    act(other);
  };
  return {
    ...one,
    refuse: both((proxy) => proxy.refuse()),
    swallow: both((proxy) => proxy.swallow()),
    heal: both((proxy) => proxy.heal()),
  };
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(3_000) });
  const { data } = (await response.json()) as { data?: { checks?: { temporal?: string } } };
  return response.ok && data?.checks?.temporal === 'ok';
}
