// A recording proxy in front of Postgres: captures every statement that the driver sends and, with `tellPlans`, the
// plans of all statements, including those inside functions. Parses the messages of the wire protocol
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTo } from '../../src/database/pool.ts';
import { administer, testStack } from './stack.ts';

export interface SentStatement {
  /** On one line. */
  text: string;
  /** As text; null for NULL. */
  parameters: (string | null)[];
  /** The connection's synchronous_commit: whether a commit waits for the disk. */
  synchronousCommit: 'on' | 'off';
}

/** A plan node in the format of `EXPLAIN (FORMAT JSON, VERBOSE)`. */
export interface PlanNode {
  'Node Type': string;
  Schema?: string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
  [property: string]: unknown;
}

export interface RunPlan {
  /** The statement, on one line. */
  text: string;
  plan: PlanNode;
}

export interface QueryRecorder {
  /** The URL of the proxy. */
  url: string;
  /** Returns the statements since the last call, oldest first, without the driver's queries for types. */
  take: () => SentStatement[];
  /** Returns the plans since the last call (see `tellPlans`). */
  takePlans: () => RunPlan[];
  close: () => Promise<void>;
}

/** The driver's query for types, once per connection. */
const TYPE_QUERY = /FROM pg_catalog\.pg_type/i;

export async function startQueryRecorder(databaseUrl: string): Promise<QueryRecorder> {
  const target = new URL(databaseUrl);
  let sent: SentStatement[] = [];
  let plans: string[] = []; // parsed in `takePlans`, to keep the proxy fast
  const open = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [inner, outer]) {
      open.add(socket);
      socket.on('error', () => {}); // the other end sees a lost connection
      socket.on('close', () => {
        open.delete(socket);
        inner.destroy();
        outer.destroy();
      });
    }
    // Record before forwarding, so that a statement is recorded by the time its response arrives.
    const readRequest = frontendReader((statement) => {
      if (!TYPE_QUERY.test(statement.text)) sent.push(statement);
    });
    const readResponse = backendReader((plan) => plans.push(plan));
    inner.on('data', (chunk) => {
      readRequest(chunk);
      outer.write(chunk);
    });
    outer.on('data', (chunk) => {
      readResponse(chunk);
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
      const statements = sent;
      sent = [];
      return statements;
    },
    takePlans: () => {
      const parsed = plans.map(readPlan);
      plans = [];
      return parsed.filter(({ text }) => !TYPE_QUERY.test(text));
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** Makes a database send the plan of every statement, with its parameter values, as a notice on new connections. */
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
  // The function is set to generic plans, which do not contain the parameter values.
  const owner = connectTo(databaseUrl, { connectionsMax: 1, role: 'owner' });
  await owner`ALTER FUNCTION ledger.post RESET plan_cache_mode`;
  await owner.end();
}

/**
 * Splits a byte stream into protocol messages, independent of chunk boundaries. The first message may have no type
 * byte.
 */
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
        if (text === undefined) throw new Error('a Bind message for an unknown prepared statement');
        for (let formats = at.int16(); formats > 0; formats -= 1) {
          if (at.int16() !== 0) throw new Error('binary parameters are not supported');
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

function readPlan(json: string): RunPlan {
  const { 'Query Text': text, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
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
