// Connection pools to Postgres. A movement of money is always a single statement, never a transaction callback in
// JavaScript (docs/decisions/0001-one-statement-moves-money.md), so a plain pool is sufficient.
import postgres from 'postgres';
import { addressesOf, primaryFinder } from './primary.ts';
import { createSockets, IDLE_SECONDS, needsTypes, STATEMENT_MAX_MS, type TypeOptions } from './socket.ts';
import { requireTls } from './tls.ts';

export type Sql = postgres.Sql<{ bigint: number }>;

/** The row of a query that finds at most one; null: none. */
export async function firstOf<Row>(query: PromiseLike<readonly Row[]>): Promise<Row | null> {
  const [row] = await query;
  return row ?? null;
}

/** The row of a query that always has one. */
export async function rowOf<Row>(query: PromiseLike<readonly Row[]>): Promise<Row> {
  const [row] = await query;
  if (row === undefined) throw new Error('the query returned no row');
  return row;
}

/** Whether a query finds a row. */
export const hasRow = async (query: PromiseLike<readonly unknown[]>): Promise<boolean> => (await query).length > 0;

/**
 * The clock of the database, which dates every posting and every line of the sandbox bank. Code that compares with
 * those dates reads it: the clock of a process may be minutes off.
 */
export const readDatabaseTime = async (sql: Sql): Promise<Date> =>
  (await rowOf(sql<{ now: Date }[]>`SELECT now()::timestamptz(3) AS now`)).now;

/** The role of every running process: it may call `ledger.post` but not write postings itself. */
const APPLICATION_ROLE = 'manilla_app';

/** Throws on a bigint outside of the safe integer range: a wrong balance is worse than an error. */
function parseBigint(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint out of the safe range: ${text}`);
  return value;
}

interface PoolOptions {
  connectionsMax: number;
  /**
   * `off`: a commit does not wait for the disk (`synchronous_commit`), so a crash of Postgres may lose it. For leases
   * and rate counters only, never for money. `FORCE_INDEX_PLANS` makes its look-ups use indexes.
   */
  synchronousCommit?: 'on' | 'off';
  /** `owner` is for migrations and for administration by the CLI. */
  role?: 'application' | 'owner';
  /**
   * Closes a connection on which a reply has been outstanding for `STALL_TIMEOUT_MS`, so that a stalled server or
   * network does not block its callers. Also sets `statement_timeout` slightly below that. Omit it for long statements
   * (maintenance, the CLI).
   */
  closeWhenStalled?: boolean;
  /** Postgres cancels longer statements. Default: `STATEMENT_MAX_MS` with `closeWhenStalled`, else none. */
  statementTimeoutMs?: number;
  /** Receives the notices and warnings of the server. Default: they are ignored. */
  onNotice?: (notice: postgres.Notice) => void;
}

/**
 * Planner settings of a pool with `synchronousCommit: 'off'`, whose look-ups are all by key. A cached plan from the
 * time when a table was empty would otherwise scan or materialise the whole growing table for each key, until
 * autovacuum analyses it.
 */
const FORCE_INDEX_PLANS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
};

/**
 * Opens a pool; close it with `sql.end()`. Connections are opened on first use, and to a primary only: a standby is
 * behind, and refuses writes. A URL may name several hosts. Throws where DATABASE_TLS does not allow the connection.
 */
export function connect(url: string, options: PoolOptions): Sql {
  const servers = addressesOf(url);
  const [first] = servers;
  const findPrimary = first !== undefined && servers.length > 1 ? primaryFinder(servers, first) : null;
  const { closeWhenStalled = false, statementTimeoutMs = closeWhenStalled ? STATEMENT_MAX_MS : undefined } = options;
  const sql: Sql = postgres(url, {
    max: options.connectionsMax,
    transform: { column: { from: postgres.toCamel } },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: parseBigint } },
    connect_timeout: 5,
    backoff: reconnectPauseSeconds,
    ...(findPrimary === null ? {} : first), // the driver knows one of several hosts, and the sockets choose
    target_session_attrs: 'primary',
    ...(closeWhenStalled || findPrimary !== null ? { socket: createSockets(closeWhenStalled, findPrimary) } : {}),
    ...(closeWhenStalled ? { idle_timeout: IDLE_SECONDS } : {}),
    connection: {
      application_name: 'manilla',
      ...(options.role === 'owner' ? {} : { role: APPLICATION_ROLE }),
      ...(options.synchronousCommit === 'off' ? { synchronous_commit: 'off', ...FORCE_INDEX_PLANS } : {}),
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    },
    onnotice: options.onNotice ?? (() => {}),
  });
  requireTls(sql.options);
  return sql;
}

/** One connection with the settings of a pool, which lasts until it is closed with `sql.end()`. */
export function connectAlone({ options }: Sql): Sql {
  const alone = { max: 1, max_lifetime: null, idle_timeout: null };
  // The driver accepts parsed options, although its types do not say so: its own `listen` passes them.
  return postgres({
    ...options,
    ...alone,
    fetch_types: needsTypes(options as unknown as TypeOptions),
  } as object) as Sql;
}

/** Exponential backoff with jitter, at most one second, so that a restarted server is used again soon. */
const reconnectPauseSeconds = (failures: number): number =>
  (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, 1);
