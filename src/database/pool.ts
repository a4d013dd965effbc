// The connection to Postgres. Money never moves inside a JavaScript transaction callback (docs/decisions/0001): each
// movement is one statement, so a pool of plain connections is all that is needed.
import postgres from 'postgres';
import { createSockets, IDLE_SECONDS, STATEMENT_MAX_MS } from './socket.ts';

export type Sql = postgres.Sql<{ bigint: number }>;

/** The role every running process acts as: it may call `ledger.post` but not touch a posting (migration 0001). */
const APPLICATION_ROLE = 'manilla_app';

/** Refuses a bigint that JavaScript cannot hold exactly: a wrong balance is worse than an error. */
function parseBigint(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint out of the safe range: ${text}`);
  return value;
}

interface PoolOptions {
  connectionsMax: number;
  /**
   * `off`: a commit does not wait for the disk. For in-progress marks, leases and rate counters only, never for money.
   * What these statements look up they find by index (`BY_INDEX`).
   */
  synchronousCommit?: 'on' | 'off';
  /** The owner's role is for migrations and administration from the command line. */
  role?: 'application' | 'owner';
  /**
   * Closes a connection that has owed a reply for `STALL_TIMEOUT_MS`, so that a stalled server or network does not block its callers,
   * and has the database cancel a statement shortly before that. Omit it for long statements: maintenance, the command line.
   */
  closeWhenStalled?: boolean;
  /** Statements that run longer are ended by the database. With `closeWhenStalled` the default is `STATEMENT_MAX_MS`. */
  statementTimeoutMs?: number;
}

/**
 * Every look-up of a volatile pool is by a key. A plan that is kept from the day on which a table was empty would otherwise
 * read all of the table for each of them, or search a copy of it, and each time more, until the database gathers statistics.
 */
const FORCE_INDEX_PLANS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
};

/** Opens a pool. Call `sql.end()` when done. Connections are made when first needed. */
export function connect(url: string, options: PoolOptions): Sql {
  const statementTimeoutMs = options.statementTimeoutMs ?? (options.closeWhenStalled ? STATEMENT_MAX_MS : undefined);
  return postgres(url, {
    max: options.connectionsMax,
    transform: { column: { from: postgres.toCamel } },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: parseBigint } },
    connect_timeout: 5,
    backoff: reconnectPauseSeconds,
    ...(options.closeWhenStalled ? { socket: createSockets(), idle_timeout: IDLE_SECONDS } : {}),
    connection: {
      application_name: 'manilla',
      ...(options.role === 'owner' ? {} : { role: APPLICATION_ROLE }),
      ...(options.synchronousCommit === 'off' ? { synchronous_commit: 'off', ...FORCE_INDEX_PLANS } : {}),
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    },
    onnotice: () => {},
  });
}

/** The pause grows while attempts fail, and is never so long that a server that is back is left waiting. */
const reconnectPauseSeconds = (failures: number): number =>
  (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, 1);
