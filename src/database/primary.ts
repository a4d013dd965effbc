// Which of the servers of DATABASE_URL is the primary, asked when a connection is opened. The driver's own choice among
// several hosts is not used: it cannot be combined with sockets of our own, and while no server is the primary it
// connects without a pause and fails no statement. Fencing a former primary that comes back is the work of what
// promotes the standby (docs/decisions/0024-deployment-failover-and-restore.md).
import postgres from 'postgres';

export interface Address {
  host: string;
  port: number;
}

type PoolOptions = postgres.Sql['options'];

/** A server that has not answered by then is passed over. */
const ANSWER_MAX_MS = 2_000;

/** How long an answer is reused, so that a pool that connects many times at once asks once. */
const REUSED_FOR_MS = 500;

/** Asks one server, on a connection of its own, whether it is a standby. */
async function askIsStandby(options: PoolOptions, { host, port }: Address): Promise<boolean> {
  const sql = postgres({
    ...options,
    host: [host],
    port: [port],
    max: 1,
    target_session_attrs: undefined,
    socket: undefined,
    fetch_types: false,
    shared: { retries: 0, typeArrayMap: {} },
    // The driver accepts parsed options, although its types do not say so.
  } as object);
  const end = (): void => void sql.end({ timeout: 0 });
  const timer = setTimeout(end, ANSWER_MAX_MS); // also fails the statement
  try {
    const [answer] = await sql<{ isStandby: boolean }[]>`SELECT pg_is_in_recovery() AS "isStandby"`;
    return answer?.isStandby === true;
  } finally {
    clearTimeout(timer);
    end();
  }
}

/** The servers that a URL names. */
export function addressesOf(url: string): Address[] {
  const { host, port } = postgres(url, { max: 1 }).options;
  return host.map((name, index) => ({ host: name, port: port[index] ?? 5432 }));
}

/** Finds the primary among the servers; while there is none, the first: connecting to it fails as usual. */
export function primaryFinder(servers: readonly Address[], first: Address): (options: PoolOptions) => Promise<Address> {
  let found: Promise<Address> | null = null;
  return (options) => {
    found ??= Promise.any(
      servers.map(async (server) => {
        if (await askIsStandby(options, server)) throw new Error(`${server.host}:${server.port} is a standby`);
        return server;
      }),
    )
      .catch(() => first)
      .finally(() => {
        setTimeout(() => {
          found = null;
        }, REUSED_FOR_MS).unref();
      });
    return found;
  };
}

/** Whether all servers of a URL answer, each as a standby. */
export async function areStandbys({ options }: postgres.Sql, servers: readonly Address[]): Promise<boolean> {
  const answers = await Promise.all(servers.map((server) => askIsStandby(options, server).catch(() => false)));
  return answers.every(Boolean);
}
