// A tap on the line to Postgres: every statement as the driver really sent it, and, where the database tells them, the
// plans of all that it ran for them, the statements inside functions too. Read from the messages of the wire protocol
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTo } from '../../src/database/pool.ts';
import { administer, testStack } from './stack.ts';

export interface SentStatement {
  /** In one line. */
  text: string;
  /** As text; null for NULL. */
  parameters: (string | null)[];
  /** Whether its commit waits for the disk: the connection's own setting. */
  synchronousCommit: 'on' | 'off';
}

/** A node of a plan, as `EXPLAIN (FORMAT JSON, VERBOSE)` tells it. */
export interface PlanNode {
  'Node Type': string;
  Schema?: string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
  [property: string]: unknown;
}

export interface RunPlan {
  /** The statement, in one line. */
  text: string;
  plan: PlanNode;
}

export interface QueryRecorder {
  /** The URL to connect to instead. */
  url: string;
  /** What was sent since the last call, oldest first; connections' own look at the types is left out. */
  take: () => SentStatement[];
  /** The plans that were told since the last call (see `tellPlans`). */
  takePlans: () => RunPlan[];
  close: () => Promise<void>;
}

/** What the driver asks once for each connection. */
const OF_THE_CONNECTION = /FROM pg_catalog\.pg_type/i;

export async function startQueryRecorder(databaseUrl: string): Promise<QueryRecorder> {
  const target = new URL(databaseUrl);
  let sent: SentStatement[] = [];
  let told: string[] = []; // read when they are asked for: a test has other things to do meanwhile
  const open = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [inner, outer]) {
      open.add(socket);
      socket.on('error', () => {}); // the other end sees it as a lost connection
      socket.on('close', () => {
        open.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    // What is read is read before it is passed on, so that it can be taken when its answer is there.
    const readRequest = frontendReader((statement) => {
      if (!OF_THE_CONNECTION.test(statement.text)) sent.push(statement);
    });
    const readAnswer = backendReader((plan) => told.push(plan));
    inner.on('data', (chunk) => {
      readRequest(chunk);
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      readAnswer(chunk);
      inner.write(chunk);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    take: () => {
      const taken = sent;
      sent = [];
      return taken;
    },
    takePlans: () => {
      const taken = told.map(readPlan);
      told = [];
      return taken.filter(({ text }) => !OF_THE_CONNECTION.test(text));
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** Has a database tell the plan of every statement, with the values that it was planned for, on connections from now on. */
export async function tellPlans(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_verbose': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    plan_cache_mode: 'force_custom_plan',
  };
  for (const [setting, value] of Object.entries(settings)) {
    await administer(testStack().adminDatabaseUrl, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  }
  // It has plans that hold for any values, in which no value can be read.
  const owner = connectTo(databaseUrl, { connectionsMax: 1, role: 'owner' });
  await owner`ALTER FUNCTION ledger.post RESET plan_cache_mode`;
  await owner.end();
}

/** Cuts a stream of messages at their ends, however it comes in chunks. The first may have no type. */
function messageReader(typedFromStart: boolean, onMessage: (type: string | null, body: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0);
  let typed = typedFromStart;
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const typeLength = typed ? 1 : 0;
      if (rest.length < typeLength + 4) return;
      const end = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < end) return;
      onMessage(typed ? String.fromCharCode(rest[0] ?? 0) : null, rest.subarray(typeLength + 4, end));
      typed = true;
      rest = rest.subarray(end);
    }
  };
}

function frontendReader(onStatement: (statement: SentStatement) => void): (chunk: Buffer) => void {
  const prepared = new Map<string, string>();
  let synchronousCommit: SentStatement['synchronousCommit'] = 'on';
  return messageReader(false, (type, body) => {
    const at = new Cursor(body);
    switch (type) {
      case null: // the startup message
        if (body.includes('synchronous_commit\0off\0')) synchronousCommit = 'off';
        break;
      case 'Q':
        onStatement({ text: oneLine(at.string()), parameters: [], synchronousCommit });
        break;
      case 'P':
        prepared.set(at.string(), oneLine(at.string()));
        break;
      case 'B': {
        at.string(); // the portal
        const text = prepared.get(at.string());
        if (text === undefined) throw new Error('a statement was bound that was never parsed');
        for (let formats = at.int16(); formats > 0; formats -= 1) {
          if (at.int16() !== 0) throw new Error('a binary parameter: this tap reads text only');
        }
        const parameters = Array.from({ length: at.int16() }, () => at.value());
        onStatement({ text, parameters, synchronousCommit });
        break;
      }
    }
  });
}

const PLAN = /^duration: [^\n]* plan:\n/;

function backendReader(onPlan: (plan: string) => void): (chunk: Buffer) => void {
  return messageReader(true, (type, body) => {
    if (type !== 'N') return;
    const at = new Cursor(body);
    for (let field = at.byte(); field !== 0; field = at.byte()) {
      const value = at.string();
      if (String.fromCharCode(field) === 'M' && PLAN.test(value)) onPlan(value.replace(PLAN, ''));
    }
  });
}

function readPlan(told: string): RunPlan {
  const { 'Query Text': text, Plan: plan } = JSON.parse(told) as { 'Query Text': string; Plan: PlanNode };
  return { text: oneLine(text), plan };
}

class Cursor {
  readonly #body: Buffer;
  #position = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  string(): string {
    const end = this.#body.indexOf(0, this.#position);
    const text = this.#body.toString('utf8', this.#position, end);
    this.#position = end + 1;
    return text;
  }

  byte(): number {
    this.#position += 1;
    return this.#body.readUInt8(this.#position - 1);
  }

  int16(): number {
    this.#position += 2;
    return this.#body.readInt16BE(this.#position - 2);
  }

  value(): string | null {
    const length = this.#body.readInt32BE(this.#position);
    this.#position += 4;
    if (length === -1) return null;
    this.#position += length;
    return this.#body.toString('utf8', this.#position - length, this.#position);
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
