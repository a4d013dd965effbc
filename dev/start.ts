// `npm start`: runs Postgres, Temporal, API and worker on this machine until Ctrl-C, with a demo organisation and its
// API keys. `main` has the order of the steps.
import { execFile } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { mkdirSync, rmSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stateFolderPath } from '../src/cli/settings.ts';
import { WORKER_ROLES } from '../src/config.ts';
import { migrate } from '../src/database/migrate.ts';
import type { HttpListener } from '../src/httpListener.ts';
import { answerVersion } from '../src/release.ts';
import { SCOPES } from '../src/resources/keys.ts';
import { DEFAULT_NAMESPACE, readProfile, type TemporalTarget } from '../src/temporal/profile.ts';
import { OPERATOR_SCOPES } from '../src/workflows/operators/messages.ts';
import { freePort, retryWhenTaken } from './freePort.ts';
import { isRunning } from './lockFile.mjs';
import { onChange } from './onChange.ts';
import { choosePorts, sayMoved, startOnPorts, type WantedPort, type WantedPorts } from './ports.ts';
import { postgresAnswers, startPostgres } from './postgres.ts';
import { endProcess, parentNpm } from './processes.ts';
import { type DemoOrganisation, type LockHolder, type Quickstart, StateFolder } from './stateFolder.ts';
import { type ManagedProcess, Supervisor } from './supervisor.ts';
import { checkTemporal, PROFILE_SETTINGS, startTemporal, workerPolls } from './temporal.ts';
import { findTemporal } from './temporalInstall.mjs';
import { publishTemporalUi } from './temporalUi.ts';

/** Not 5432, which another Postgres on this machine often has. */
const POSTGRES_PORT = 54_329;
const TEMPORAL_PORT = 7_233;
const TEMPORAL_UI_PORT = 8_233;
const SANDBOX_PORT = 8_080;
const LIVE_PORT = 8_081;

const PARENT_CHECK_MS = 500;

/** `npm start -- --build-temporal`: the Temporal server is built from its source, and no other is used. */
const BUILD_TEMPORAL = process.argv.includes('--build-temporal');
/** `npm run dev`: API and worker are started again when their source changes. */
const RELOADS = process.argv.includes('--reload');
/** Between SIGTERM and SIGKILL. Work that is in progress then is done again. */
const STOP_MS = RELOADS ? 100 : 15_000;

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));
const PREPARED_PROGRAM = fileURLToPath(new URL('./preparedProgram.ts', import.meta.url));

const run = promisify(execFile);
const environment = process.env;
const print = (line: string) => console.log(line);

const stateFolder = new StateFolder(stateFolderPath());
const bundlerCache = stateFolder.path('bundler');
/** Of the servers that this start runs, by their settings. */
const keptPorts: Record<string, number> = {};
let supervisor: Supervisor | undefined;
let publishedUi: HttpListener | undefined;
let stopReloads: (() => void) | undefined;
let shutdown: Promise<void> | undefined;

async function main(): Promise<void> {
  const startedAt = Date.now();
  const servers = wantedServerPorts();
  const { api: apiPorts, worker: workerPorts } = await wantedApplicationPorts();
  const attempt = stateFolder.lock();
  if (!attempt.acquired) {
    print(alreadyRunning(attempt.holder));
    process.exitCode = 1;
    return;
  }
  handleSignals();
  await terminateOrphans(attempt.left);
  stateFolder.removeQuickstart();
  print('Starting Postgres and Temporal …');
  supervisor = new Supervisor({
    logFolder: stateFolder.path('logs'),
    say: print,
    onChange: (running) => stateFolder.note(running),
    onGiveUp: (reason) => shutDown(1, `Stopping everything: ${reason}`),
  });

  const [database, temporal] = await Promise.all([useDatabase(supervisor, servers), useTemporal(supervisor, servers)]);
  await migrateWith(database);
  const chosen = await choosePorts(apiPorts, print);
  const settingsWith = (ports: Ports) => applicationSettings(database, temporal, ports);
  const operatorKey = await firstOperator(database, settingsWith(chosen));
  const organisation = await demoOrganisation(database.key, {
    ...settingsWith(chosen),
    MANILLA_OPERATOR_KEY: operatorKey,
  });

  print('Starting API and worker …');
  const running = supervisor;
  const startWorker = async (ports: Ports): Promise<void> => {
    await startOnPorts(await choosePorts(workerPorts, print), workerPorts, print, ({ metrics }) =>
      running.start(workerProcess({ ...settingsWith(ports), ...portOf('WORKER_METRICS_PORT', metrics) }, temporal)),
    );
  };
  const [ports] = await Promise.all([
    startOnPorts(chosen, apiPorts, print, (actual) => running.start(apiProcess(settingsWith(actual), actual))),
    startWorker(chosen),
  ]);
  if (ports.sandbox !== chosen.sandbox) {
    // The sandbox bank in the worker sends its callbacks to the API's port, which has changed.
    await running.dismiss('worker');
    await startWorker(ports);
  }
  const quickstart: Quickstart = {
    sandboxBaseUrl: baseUrl(ports.sandbox),
    liveBaseUrl: baseUrl(ports.live),
    ...organisation,
    temporalAddress: temporal.address,
    temporalUiUrl: temporal.uiUrl,
    databaseUrl: database.url,
    ownerDatabaseUrl: database.ownerUrl,
    operatorKey,
  };
  stateFolder.keepPorts({ SANDBOX_PORT: ports.sandbox, LIVE_PORT: ports.live, ...keptPorts });
  stateFolder.writeQuickstart(quickstart);
  print(welcome(quickstart, (Date.now() - startedAt) / 1000));
  if (RELOADS) {
    stopReloads = onChange(SOURCE, (changed) => reload(running, database, changed));
    print('API and worker are started again when a file in src changes.');
  }
  await buildDocs();
  if (!RELOADS) return;
  await loadBundler();
  for (const name of ['api', 'worker']) running.prepare(name);
}

const migrateWith = ({ ownerUrl }: Database) => migrate(ownerUrl, { log: (line) => print(`  ${line}`) });

/** Which of the two runs code that the other one does not run, by the paths of its files in `src`. */
const ONLY_IN = { api: /^api\//, worker: /^(activities\/|worker\/|workflows\/.*\/(details|workflow)\.ts$)/ };
const onlyIn = (file: string) => (['api', 'worker'] as const).find((name) => ONLY_IN[name].test(file));
const NAMES = { api: 'API', worker: 'worker' };

/**
 * Starts API and worker, or the one that changed, with their new source, after what changed in the database. What
 * cannot be started waits for the next change.
 */
async function reload(running: Supervisor, database: Database, changed: string[]): Promise<void> {
  const startedAt = Date.now();
  const [only, ...others] = new Set(changed.map(onlyIn));
  const names = only !== undefined && others.length === 0 ? [only] : (['api', 'worker'] as const);
  try {
    if (changed.some((file) => file.endsWith('.sql'))) await migrateWith(database);
  } catch (error) {
    return print((error as Error).message);
  }
  const results = await Promise.allSettled(
    names.map((name) => running.startAgain(name, name === 'worker' ? buildWorkflows() : undefined)),
  );
  for (const name of names) running.prepare(name);
  if (shutdown !== undefined) return;
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [(result.reason as Error).message] : [],
  );
  const started = names.map((name) => NAMES[name]).join(' and ');
  print(failures.join('\n') || `Started ${started} again, in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`);
}

/** Loads the bundler and fills its cache, so that the first change of a workflow takes no longer than the next ones. */
async function loadBundler(): Promise<void> {
  rmSync(bundlerCache, { recursive: true, force: true });
  await buildWorkflows({ fillsCache: true });
}

/**
 * Builds the workflows for the worker's cache, in a process that has the bundler loaded. With traces or encrypted
 * payloads the worker builds its own, and where this fails: then its log says why.
 */
async function buildWorkflows({ fillsCache = false } = {}): Promise<void> {
  if (environment.OTEL_EXPORTER_OTLP_ENDPOINT || environment.TEMPORAL_PAYLOAD_KEYS) return;
  try {
    const { DefaultLogger } = await import('@temporalio/worker');
    const { bundleWorkflows } = await import('../src/worker/workflowBundle.ts');
    // To write the cache takes longer than to compile what has changed since.
    const cache = { type: 'filesystem' as const, cacheDirectory: bundlerCache, readonly: !fillsCache };
    await bundleWorkflows({
      logger: new DefaultLogger('ERROR', () => {}),
      webpackConfigHook: (config) => ({ ...config, cache }),
      ...(fillsCache && { folder: path.join(bundlerCache, 'workflows') }),
    });
  } catch {}
}

/** Builds the guide that the API serves, when its sources have changed: after the start, which does not wait for it. */
async function buildDocs(): Promise<void> {
  try {
    const { buildGuide } = await import('../tools/guide/build.ts');
    await buildGuide();
  } catch (error) {
    print(`The guide at /docs/guide could not be built: ${(error as Error).message}`);
  }
}

type ServerPorts = WantedPorts<'postgres' | 'temporal' | 'temporalUi'>;

function wantedServerPorts(): ServerPorts {
  return {
    postgres: wantedPort('POSTGRES_PORT', POSTGRES_PORT, 'Postgres'),
    temporal: wantedPort('TEMPORAL_PORT', TEMPORAL_PORT, 'Temporal'),
    temporalUi: wantedPort('TEMPORAL_UI_PORT', TEMPORAL_UI_PORT, 'the Temporal UI'),
  };
}

/** The ports of the API and of the worker. Metrics have a port only where the user set one. */
async function wantedApplicationPorts() {
  const { address } = await lookup(bindAddress());
  const { address: metricsAddress } = await lookup(environment.METRICS_BIND_ADDRESS || '127.0.0.1');
  const metrics = (setting: string, what: string): { metrics?: WantedPort } =>
    Number(environment[setting]) > 0 ? { metrics: wantedPort(setting, 0, what, metricsAddress) } : {};
  return {
    api: {
      sandbox: wantedPort('SANDBOX_PORT', SANDBOX_PORT, 'the sandbox API', address),
      live: wantedPort('LIVE_PORT', LIVE_PORT, 'the live API', address),
      ...metrics('METRICS_PORT', "the API's metrics endpoint"),
    } as WantedPorts<keyof Ports>,
    worker: metrics('WORKER_METRICS_PORT', "the worker's metrics endpoint") as WantedPorts<'metrics'>,
  };
}

function wantedPort(setting: string, preset: number, what: string, address = '127.0.0.1'): WantedPort {
  // Addresses of payment pages and logins hold the port of an earlier start.
  const port = portSetting(setting, stateFolder.ports()[setting] ?? preset);
  return { setting, what, port, isSet: Boolean(environment[setting]), address };
}

/** The environment variable for a port, if there is a port. */
const portOf = (setting: string, port: number | undefined): NodeJS.ProcessEnv =>
  port === undefined ? {} : { [setting]: String(port) };

/** `key` is its key among the stored demo organisations. */
interface Database {
  url: string;
  ownerUrl: string;
  key: string;
}

/** The database of DATABASE_URL and OWNER_DATABASE_URL, or the embedded one. */
async function useDatabase(running: Supervisor, wanted: ServerPorts): Promise<Database> {
  const [url, ownerUrl] = [environment.DATABASE_URL, environment.OWNER_DATABASE_URL];
  if (url) {
    if (!ownerUrl) {
      throw new Error(
        'DATABASE_URL is set, but OWNER_DATABASE_URL is not. Set it to the URL of the same database for its owner, ' +
          'who migrates it; DATABASE_URL is for the service (docs/configuration.md).',
      );
    }
    if (!(await postgresAnswers(url))) {
      const { host } = new URL(url);
      throw new Error(
        `DATABASE_URL is set, but no Postgres server responds at ${host}. Start it, or unset DATABASE_URL.`,
      );
    }
    return { url, ownerUrl, key: url };
  }
  const server = await startPostgres(running, {
    folder: stateFolder.path('postgres'),
    portPreferred: wanted.postgres.port,
    password: stateFolder.secrets().databasePassword,
    durability: 'durable',
  });
  sayMoved(wanted.postgres, server.port, print);
  keptPorts.POSTGRES_PORT = server.port;
  return { url: server.url, ownerUrl: server.ownerUrl, key: 'embedded' };
}

interface Temporal extends TemporalTarget {
  uiUrl: string;
  /** Overrides of the connection settings in the environment. */
  profile: NodeJS.ProcessEnv;
}

/** The Temporal server of TEMPORAL_ADDRESS, or the embedded one. */
async function useTemporal(running: Supervisor, wanted: ServerPorts): Promise<Temporal> {
  const { address, namespace = DEFAULT_NAMESPACE, credentials } = readProfile(environment);
  if (address !== undefined) {
    try {
      await checkTemporal(address, namespace, () => credentials);
    } catch (error) {
      throw new Error(
        `TEMPORAL_ADDRESS is set, but the server at ${address} cannot be used with the namespace ${namespace}: ` +
          `${(error as Error).message}. Start it, or unset TEMPORAL_ADDRESS.`,
        { cause: error },
      );
    }
    return {
      address,
      namespace,
      uiUrl: environment.TEMPORAL_UI_URL ?? '',
      profile: {},
      credentials: () => credentials,
    };
  }
  const program = await findTemporal({ say: print, build: BUILD_TEMPORAL ? 'only' : 'last' });
  mkdirSync(stateFolder.path('temporal'), { recursive: true });
  const server = await startTemporal(running, {
    program,
    portPreferred: wanted.temporal.port,
    uiPortPreferred: await freePort(),
    databaseFile: stateFolder.path('temporal/state.db'),
  });
  const temporalPort = Number(server.address.split(':').at(-1));
  sayMoved(wanted.temporal, temporalPort, print);
  const uiPort = await retryWhenTaken(async () => {
    const port = await freePort(wanted.temporalUi.port);
    publishedUi = await publishTemporalUi(server.uiUrl, port);
    return port;
  });
  sayMoved(wanted.temporalUi, uiPort, print);
  Object.assign(keptPorts, { TEMPORAL_PORT: temporalPort, TEMPORAL_UI_PORT: uiPort });
  // Settings for another server must not apply to this one.
  const profile = Object.fromEntries(PROFILE_SETTINGS.map((name) => [name, '']));
  const uiUrl = `http://127.0.0.1:${uiPort}`;
  return { ...server, uiUrl, namespace: DEFAULT_NAMESPACE, profile, credentials: () => ({ tls: false }) };
}

interface Ports {
  sandbox: number;
  live: number;
  metrics?: number;
}

function portSetting(name: string, preset: number): number {
  const text = environment[name];
  if (!text) return preset;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${name} is not a port: ${text}`);
  return port;
}

function bindAddress(): string {
  return environment.BIND_ADDRESS || '127.0.0.1';
}

/** The base URL of the API on this port, from this machine. */
function baseUrl(port: number): string {
  const bound = bindAddress();
  const host = bound === '0.0.0.0' ? '127.0.0.1' : bound === '::' ? '::1' : bound;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/v1`;
}

/**
 * The environment of API, worker and command line, without the owner's login. The entries before `...environment` are
 * defaults that the user may set.
 */
function applicationSettings(database: Database, temporal: Temporal, ports: Ports): NodeJS.ProcessEnv {
  return {
    WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
    // Short, so that a parked flow can be seen soon; the default for production is an hour.
    ATTENTION_RAIL_UNREACHABLE_SECONDS: '30',
    ...environment,
    OWNER_DATABASE_URL: undefined,
    DATABASE_URL: database.url,
    ...temporal.profile,
    // The stack has a single worker process.
    WORKER_ROLES: WORKER_ROLES.join(','),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    TEMPORAL_UI_URL: temporal.uiUrl,
    MANILLA_KEYS: environment.MANILLA_KEYS || stateFolder.secrets().manillaKeys,
    SANDBOX_PORT: String(ports.sandbox),
    LIVE_PORT: String(ports.live),
    ...portOf('METRICS_PORT', ports.metrics),
    BIND_ADDRESS: bindAddress(),
    SANDBOX_RAIL_CALLBACK_URL: `${baseUrl(ports.sandbox)}/rails/sandbox/callbacks`,
    LOG_LEVEL: environment.LOG_LEVEL || 'info',
    // Half a second less for each start.
    NODE_COMPILE_CACHE: environment.NODE_COMPILE_CACHE || stateFolder.path('compiled'),
    // Workflows on the main thread of the worker, which starts in half the time, and where a debugger can stop in them.
    ...(RELOADS && { TEMPORAL_DEBUG: environment.TEMPORAL_DEBUG || '1' }),
  };
}

/** The key of the operator who runs the commands of this machine; created on the first start, unless one is set. */
async function firstOperator({ key: database, ownerUrl }: Database, settings: NodeJS.ProcessEnv): Promise<string> {
  const existing = environment.MANILLA_OPERATOR_KEY || stateFolder.secrets().operatorKeys[database];
  if (existing) return existing;
  const { key } = await runCli<{ key: string }>(
    ['operators', 'create', 'quickstart', '--scopes', OPERATOR_SCOPES.join(',')],
    { ...settings, OWNER_DATABASE_URL: ownerUrl },
  );
  stateFolder.keepOperatorKey(database, key);
  return key;
}

/** The demo organisation of this database with its two keys; created on the first start. */
async function demoOrganisation(database: string, settings: NodeJS.ProcessEnv): Promise<DemoOrganisation> {
  const existing = stateFolder.secrets().organisations[database];
  if (existing !== undefined) return existing;
  print('Making the demo organisation and its keys …');
  const created = await runCli<Omit<DemoOrganisation, 'testApiKey' | 'liveApiKey'>>(
    ['organisations', 'create', '--name', 'Demo'],
    settings,
  );
  const makeKey = (name: 'test' | 'live') => {
    const owner = ['--organisation', created.organisationId];
    return runCli<{ key: string }>(
      ['keys', 'create', ...owner, '--environment', name, '--scopes', SCOPES.join(',')],
      settings,
    );
  };
  const [test, live] = await Promise.all([makeKey('test'), makeKey('live')]);
  const { organisationId, settlementWalletId, liveSettlementWalletId } = created;
  const organisation = {
    organisationId,
    settlementWalletId,
    liveSettlementWalletId,
    testApiKey: test.key,
    liveApiKey: live.key,
  };
  stateFolder.keepOrganisation(database, organisation);
  return organisation;
}

async function runCli<Output>(args: string[], settings: NodeJS.ProcessEnv): Promise<Output> {
  const { stdout } = await run(process.execPath, [program('cli'), ...args, '--json'], { env: settings });
  return JSON.parse(stdout) as Output;
}

function program(name: 'api' | 'worker' | 'cli'): string {
  return fileURLToPath(new URL(`../src/${name}/main.ts`, import.meta.url));
}

function apiProcess(settings: NodeJS.ProcessEnv, ports: Ports): ManagedProcess {
  return {
    ...applicationProcess('api', settings),
    isReady: async () => {
      const responses = await Promise.all(
        [ports.sandbox, ports.live].map((port) =>
          fetch(`${baseUrl(port)}/health`, { signal: AbortSignal.timeout(3_000) }),
        ),
      );
      return responses.every((response) => response.ok);
    },
  };
}

function workerProcess(settings: NodeJS.ProcessEnv, temporal: Temporal): ManagedProcess {
  const taskQueue = settings.TEMPORAL_TASK_QUEUE || 'manilla';
  return {
    ...applicationProcess('worker', settings),
    isReady: (startedAt) =>
      workerPolls(temporal.address, temporal.namespace, taskQueue, startedAt, temporal.credentials),
  };
}

function applicationProcess(name: 'api' | 'worker', settings: NodeJS.ProcessEnv): Omit<ManagedProcess, 'isReady'> {
  return {
    name,
    kind: 'application',
    command: process.execPath,
    args: RELOADS ? [PREPARED_PROGRAM, name] : [program(name)],
    env: settings,
    stopSignal: 'SIGTERM',
    // On SIGTERM both finish the work in progress first.
    stopWithinMs: STOP_MS,
    readyWithinMs: 60_000,
  };
}

/** Ends the processes that a killed start left running, as its lock file lists them. */
async function terminateOrphans(left: LockHolder | undefined): Promise<void> {
  // In reverse start order. SIGINT is the fast shutdown of Postgres.
  for (const orphan of [...(left?.processes ?? [])].reverse()) {
    if (!isRunning(orphan)) continue;
    print(`Stopping ${orphan.name} (process ${orphan.pid}), left over from a start that was killed.`);
    await endProcess(orphan, orphan.name === 'postgres' ? 'SIGINT' : 'SIGTERM', 15_000);
  }
}

function alreadyRunning(holder: LockHolder): string {
  const quickstart = stateFolder.quickstart();
  const where =
    quickstart === undefined
      ? 'It is still starting.'
      : `Sandbox API ${quickstart.sandboxBaseUrl}, Temporal UI ${quickstart.temporalUiUrl}; more is in ${displayPath('quickstart.json')}.`;
  return `Manilla is already running here (process ${holder.pid}, since ${holder.since}).\n${where}\nStop it with Ctrl-C in its terminal, or with \`kill ${holder.pid}\`.`;
}

/** A path in the state folder: relative to the working directory when it is inside of it, otherwise absolute. */
function displayPath(name: string): string {
  const file = stateFolder.path(name);
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith('..') ? file : relative;
}

function welcome(quickstart: Quickstart, seconds: number): string {
  const { sandboxBaseUrl, testApiKey, settlementWalletId } = quickstart;
  const { origin } = new URL(sandboxBaseUrl);
  return `
Manilla is running (ready in ${seconds.toFixed(1)} s).

  Sandbox API        ${sandboxBaseUrl}
  Live API           ${quickstart.liveBaseUrl}
  Guide, reference   ${origin}/docs/guide, ${origin}/docs
  Temporal UI        ${quickstart.temporalUiUrl || '(of your own server)'}
  Test key           ${testApiKey}
  Live key           ${quickstart.liveApiKey}
  Settlement wallet  ${settlementWalletId}
  Logs               ${displayPath('logs')}
  All of this        ${displayPath('quickstart.json')}

Create a wallet:

  curl -sS ${sandboxBaseUrl}/wallets -H 'Authorization: Bearer ${testApiKey}' \\
    -H 'Content-Type: application/json' -d '{"email": "ada@example.com", "fullName": "Ada Obi"}'

Ask for a payment of 2,000 naira into the settlement wallet, by bank transfer:

  curl -sS ${sandboxBaseUrl}/payments -H 'Authorization: Bearer ${testApiKey}' \\
    -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s%N)" \\
    -d '{"method": "bank_transfer", "baseAmount": 200000, "targetWalletId": "${settlementWalletId}"}'

In another terminal, \`npm run example\` takes a payment in TypeScript and verifies its webhook; \`npm run demo\` shows
each money flow. Ctrl-C stops everything.
`;
}

/**
 * Stops the stack in order on Ctrl-C (SIGINT), SIGTERM, SIGHUP (the terminal was closed), or when npm has ended. A
 * second Ctrl-C sends SIGKILL to all processes.
 */
function handleSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (shutdown === undefined) shutDown(0, `\nStopping (${signal}) …`);
      else if (signal === 'SIGINT') supervisor?.kill();
    });
  }
  // The output is closed (EPIPE): not a reason to stop.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  // npm passes signals on unless it is killed itself; then Ctrl-C would not reach this process either.
  const npm = parentNpm();
  if (npm !== undefined) {
    setInterval(() => {
      if (!isRunning(npm) && shutdown === undefined) shutDown(1, 'npm has ended; stopping …');
    }, PARENT_CHECK_MS).unref();
  }
}

function shutDown(exitCode: number, reason: string): void {
  shutdown ??= (async () => {
    print(reason);
    stopReloads?.();
    await publishedUi?.close();
    await supervisor?.stop();
    stateFolder.unlock();
    print('Stopped.');
    process.exit(exitCode);
  })();
}

answerVersion();
try {
  await main();
} catch (error) {
  // During a shutdown, processes that are still starting fail; that is expected.
  if (shutdown === undefined) shutDown(1, `Manilla could not start: ${(error as Error).message}`);
  await shutdown;
}
