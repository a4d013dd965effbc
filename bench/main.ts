// `npm run bench`: measures the ledger, the HTTP API, the flows and growth beside their yardsticks, on a Postgres of its
// own or the one that POSTGRES_URL names, and writes the figures into docs/performance/. `npm run bench -- ledger http` runs
// some stages; `--quick` is a short look; `--out <folder>` writes elsewhere.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { totalmem } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { startPostgres } from '../dev/postgres.ts';
import { Supervisor } from '../dev/supervisor.ts';
import { stateFolderPath } from '../src/cli/settings.ts';
import { migrate } from '../src/database/migrate.ts';
import { connect } from '../src/database/pool.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { describeMachine, describeStealTime, type Machine, processorTime } from './machine.ts';
import { formatted } from './measure.ts';
import { writeResults, writeStage } from './report.ts';
import { CannotRun, isMet, type Stage, type StageResult } from './stage.ts';
import { flows } from './stages/flows.ts';
import { growth } from './stages/growth.ts';
import { http } from './stages/http.ts';
import { ledger } from './stages/ledger.ts';
import { memory } from './stages/memory.ts';
import { processes } from './stages/processes.ts';

const STAGES: Stage[] = [ledger, http, flows, growth, processes, memory];

const RESULTS = fileURLToPath(new URL('../docs/performance/', import.meta.url));

const say = (line: string) => console.log(line);

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string', default: RESULTS },
  },
});

async function main(): Promise<void> {
  const stages = chosen(positionals);
  // Beside the data of `npm start`: a temporary folder may be memory, where a flush to disk costs nothing.
  mkdirSync(stateFolderPath(), { recursive: true });
  const folder = mkdtempSync(path.join(stateFolderPath(), 'bench-'));
  chmodSync(folder, 0o711); // Postgres may run as another account
  const parts = new Supervisor({ logFolder: path.join(folder, 'logs'), say });
  parts.removeAtEnd(folder);
  // What a stage started is ended by its caretaker as soon as we are gone.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void parts.stop().then(() => process.exit(1)));
  }
  try {
    const server = await openServer(parts, path.join(folder, 'postgres'));
    const machine = await describeMachine(server.adminUrl);
    for (const [name, value] of Object.entries(machine)) say(`${name}: ${value}`);
    for (const stage of stages) {
      const stageParts = new Supervisor({ logFolder: path.join(folder, 'logs', stage.name), say });
      try {
        await runStage(stage, stageParts, server, machine);
      } finally {
        await stageParts.stop();
      }
    }
    writeResults(
      options.out,
      STAGES.map(({ name }) => name),
    );
    say(`\nResults are in ${path.relative(process.cwd(), options.out) || '.'}`);
  } finally {
    await parts.stop();
  }
}

/** What the stages are run on: `url` makes and owns their databases, `adminUrl` is a superuser's. */
interface Server {
  url: string;
  adminUrl: string;
}

/** The server that POSTGRES_URL names, as a superuser; otherwise one of our own, with its default durability, for this run. */
async function openServer(parts: Supervisor, folder: string): Promise<Server> {
  const { POSTGRES_URL } = process.env;
  if (POSTGRES_URL !== undefined) return { url: POSTGRES_URL, adminUrl: POSTGRES_URL };
  const password = randomBytes(12).toString('hex');
  // A quarter of the memory, as Postgres advises. Otherwise the system's cache decides what a book of millions costs to read.
  const sharedBuffersMb = Math.floor(totalmem() / 4 / 2 ** 20);
  const server = await startPostgres(parts, { folder, password, durability: 'durable', sharedBuffersMb });
  parts.removeAtEnd(realpathSync(folder));
  return server;
}

function chosen(names: readonly string[]): Stage[] {
  if (names.length === 0) return STAGES.filter(({ onRequest }) => onRequest !== true);
  return names.map((name) => {
    const stage = STAGES.find((one) => one.name === name);
    if (stage !== undefined) return stage;
    throw new Error(`There is no stage ${name}. There are: ${STAGES.map((one) => one.name).join(', ')}`);
  });
}

async function runStage(stage: Stage, parts: Supervisor, server: Server, machine: Machine): Promise<void> {
  say(`\n${stage.name}: ${stage.title}`);
  const databases = new Databases(server.url);
  const started = performance.now();
  const processorBefore = processorTime();
  let result: StageResult | { cannotRun: string };
  try {
    result = await stage.run({
      parts,
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
  readonly #serverUrl: string;
  readonly #made: { name: string; url: string; kind: 'books' | 'empty' }[] = [];

  constructor(serverUrl: string) {
    this.#serverUrl = serverUrl;
  }

  async create(kind: 'books' | 'empty'): Promise<string> {
    const name = `bench_${randomBytes(4).toString('hex')}`;
    const url = new URL(this.#serverUrl);
    await this.#administer(`CREATE DATABASE ${name}`);
    url.pathname = `/${name}`;
    this.#made.push({ name, url: url.href, kind });
    if (kind === 'books') await migrate(url.href);
    return url.href;
  }

  /** Verifies the ledger of every database. Throws on any finding: figures of a wrong ledger are worth nothing. */
  async verify(): Promise<string> {
    let postings = 0;
    const started = performance.now();
    for (const { url } of this.#made.filter(({ kind }) => kind === 'books')) {
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
    for (const { name } of this.#made) await this.#administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  async #administer(statement: string): Promise<void> {
    const sql = postgres(this.#serverUrl, { max: 1, onnotice: () => {} });
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end();
    }
  }
}

await main();
