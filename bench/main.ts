// `npm run bench`: measures the ledger, the HTTP API, the flows and growth, each next to a baseline, and writes the
// results to docs/performance/. Runs on its own Postgres, or on the server of POSTGRES_URL.
// `npm run bench -- ledger http` runs the named stages; `--quick` shortens the run; `--out <folder>` writes to another
// folder.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { totalmem } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { createServiceLogin, startPostgres } from '../dev/postgres.ts';
import { Supervisor } from '../dev/supervisor.ts';
import { stateFolderPath } from '../src/cli/settings.ts';
import { migrate } from '../src/database/migrate.ts';
import { connect } from '../src/database/pool.ts';
import { answerVersion } from '../src/release.ts';
import { verifyLedger } from '../src/verification/verifyBooks.ts';
import { describeMachine, describeStealTime, type Machine, processorTime } from './machine.ts';
import { formatted } from './measure.ts';
import { writeResults, writeStage } from './report.ts';
import { CannotRun, type DatabaseKind, isMet, type Stage, type StageResult } from './stage.ts';
import { checkout } from './stages/checkout.ts';
import { deliveries } from './stages/deliveries.ts';
import { flows } from './stages/flows.ts';
import { growth } from './stages/growth.ts';
import { http } from './stages/http.ts';
import { ledger } from './stages/ledger.ts';
import { pressure } from './stages/pressure.ts';
import { sealing } from './stages/sealing.ts';

const STAGES: Stage[] = [ledger, sealing, http, checkout, flows, deliveries, pressure, growth];

const RESULTS = fileURLToPath(new URL('../docs/performance/', import.meta.url));

const say = (line: string) => console.log(line);

answerVersion();
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string', default: RESULTS },
  },
});

async function main(): Promise<void> {
  const stages = chosen(positionals);
  // In the state folder of `npm start`: a temporary folder may be a memory file system, where fsync costs nothing.
  mkdirSync(stateFolderPath(), { recursive: true });
  const folder = mkdtempSync(path.join(stateFolderPath(), 'bench-'));
  chmodSync(folder, 0o711); // Postgres may run as another account
  const supervisor = supervise('servers');
  supervisor.removeAtEnd(folder);
  // The processes of a stage are ended by their reaper when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void supervisor.stop().then(() => process.exit(1)));
  }
  try {
    const server = await openServer(supervisor, path.join(folder, 'postgres'));
    const machine = await describeMachine(server.adminUrl);
    for (const [name, value] of Object.entries(machine)) say(`${name}: ${value}`);
    for (const stage of stages) {
      const stageSupervisor = supervise(stage.name);
      try {
        await runStage(stage, stageSupervisor, server, machine);
      } finally {
        await stageSupervisor.stop();
      }
    }
    writeResults(
      options.out,
      STAGES.map(({ name }) => name),
    );
    say(`\nResults are in ${path.relative(process.cwd(), options.out) || '.'}`);
  } finally {
    await supervisor.stop();
  }
}

/**
 * Runs processes whose crash ends the benchmark: a stage would wait forever for what a dead server does not do. Their
 * output is kept until the next run.
 */
const supervise = (name: string): Supervisor =>
  new Supervisor({
    logFolder: path.join(stateFolderPath(), 'bench-logs', name),
    say,
    crashesMax: 1,
    onGiveUp: (reason) => {
      say(reason);
      // The reapers end the other processes and remove the folder of this run.
      process.exit(1);
    },
  });

/** The server under test: the role of `ownerUrl` creates and owns the databases, `adminUrl` is the superuser's. */
interface Server {
  ownerUrl: string;
  adminUrl: string;
}

/** The server of POSTGRES_URL, as a superuser; otherwise an embedded one for this run, with fsync on. */
async function openServer(supervisor: Supervisor, folder: string): Promise<Server> {
  const { POSTGRES_URL } = process.env;
  if (POSTGRES_URL !== undefined) {
    const sql = postgres(POSTGRES_URL, { max: 1, onnotice: () => {} });
    const { username, password } = new URL(POSTGRES_URL);
    await createServiceLogin(sql, username, password);
    await sql.end();
    return { ownerUrl: POSTGRES_URL, adminUrl: POSTGRES_URL };
  }
  const password = randomBytes(12).toString('hex');
  // The most of the memory that the Postgres documentation recommends. With less, reads of a large book would measure
  // the page cache of the operating system.
  const sharedBuffersMb = Math.floor((0.4 * totalmem()) / 2 ** 20);
  const server = await startPostgres(supervisor, { folder, password, durability: 'durable', sharedBuffersMb });
  supervisor.removeAtEnd(realpathSync(folder));
  return server;
}

function chosen(names: readonly string[]): Stage[] {
  if (names.length === 0) return STAGES.filter(({ onRequest }) => onRequest !== true);
  return names.map((name) => {
    const stage = STAGES.find((one) => one.name === name);
    if (stage !== undefined) return stage;
    throw new Error(`Unknown stage ${name}. Stages: ${STAGES.map((one) => one.name).join(', ')}`);
  });
}

async function runStage(stage: Stage, supervisor: Supervisor, server: Server, machine: Machine): Promise<void> {
  say(`\n${stage.name}: ${stage.title}`);
  const databases = new Databases(server);
  const started = performance.now();
  const processorBefore = processorTime();
  let result: StageResult | { cannotRun: string };
  try {
    result = await stage.run({
      supervisor,
      adminUrl: server.adminUrl,
      quick: options.quick,
      say,
      createDatabase: (kind) => databases.create(kind),
    });
    const stolen = describeStealTime(processorBefore, processorTime());
    if (stolen !== null) result.notes.push(stolen);
    result.notes.push(await databases.verify());
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    result = { cannotRun: error.message };
  } finally {
    await databases.drop();
  }
  const run = { at: new Date(), seconds: (performance.now() - started) / 1000, quick: options.quick, machine };
  writeStage(options.out, stage, run, result);
  if ('cannotRun' in result) return say(`  did not run: ${result.cannotRun}`);
  for (const { name, unit, min, median, max } of result.measured) {
    say(`  ${name}: ${formatted(median)} ${unit} (${formatted(min)} to ${formatted(max)})`);
  }
  for (const goal of result.goals) say(`  ${isMet(goal) ? 'met    ' : 'NOT MET'} ${goal.text}: ${formatted(goal.got)}`);
  for (const note of result.notes) say(`  ${note}`);
}

/** The databases of one stage. */
class Databases {
  readonly #server: Server;
  readonly #databases: { name: string; url: string; kind: DatabaseKind }[] = [];

  constructor(server: Server) {
    this.#server = server;
  }

  async create(kind: DatabaseKind): Promise<string> {
    const name = `bench_${randomBytes(4).toString('hex')}`;
    const url = new URL(this.#server.ownerUrl);
    await this.#administer(this.#server.ownerUrl, `CREATE DATABASE ${name}`);
    url.pathname = `/${name}`;
    this.#databases.push({ name, url: url.href, kind });
    if (kind !== 'empty') await migrate(url.href);
    return url.href;
  }

  /**
   * Verifies the ledger of every database that its stage does not verify. Throws on any finding: figures of a wrong
   * ledger are worth nothing.
   */
  async verify(): Promise<string> {
    let postings = 0;
    const started = performance.now();
    for (const { url } of this.#databases.filter(({ kind }) => kind === 'books')) {
      const sql = connect(url, { connectionsMax: 1, role: 'owner' });
      try {
        const verification = await verifyLedger(sql);
        postings += verification.postings;
        if (verification.findings.length > 0) {
          throw new Error(
            `The ledger has violations after the load: ${JSON.stringify(verification.findings.slice(0, 5))}`,
          );
        }
      } finally {
        await sql.end();
      }
    }
    const seconds = formatted((performance.now() - started) / 1000);
    return `Ledger verified: ${formatted(postings)} postings in ${seconds} s.`;
  }

  async drop(): Promise<void> {
    for (const { name } of this.#databases) {
      // As the superuser: an owner may not end an autovacuum of the database.
      await this.#administer(this.#server.adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  }

  async #administer(url: string, statement: string): Promise<void> {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end();
    }
  }
}

await main();
