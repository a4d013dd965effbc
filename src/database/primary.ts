// Which of the servers of DATABASE_URL is the primary. After a failover the URL stays as it is. A former primary that
// comes back, and takes itself for the primary, is not used: a promotion begins a new timeline, and its timeline is
// older.
import postgres from 'postgres';

export interface Address {
  host: string;
  port: number;
}

/** What a server says of itself. */
interface Answer {
  isStandby: boolean;
  /** Null on a standby. */
  timeline: number | null;
}

/** A server of the URL; null: it has not answered. */
export interface Server {
  address: Address;
  answer: Answer | null;
}

/** A server that has not answered by then is passed over. */
const ANSWER_MAX_MS = 2_000;

/**
 * How long the answers are good for. A new connection to a server that is gone fails, and is tried again after a pause.
 */
const FOUND_FOR_MS = 500;

/** The primary with the newest timeline. Null: none, or only one with an older timeline than was seen before. */
export function choosePrimary(
  servers: readonly Server[],
  timelineSeen: number,
): { address: Address; timeline: number } | null {
  const primaries = servers.flatMap(({ address, answer }) =>
    answer === null || answer.isStandby || answer.timeline === null ? [] : [{ address, timeline: answer.timeline }],
  );
  const [newest] = primaries.toSorted((one, other) => other.timeline - one.timeline);
  return newest === undefined || newest.timeline < timelineSeen ? null : newest;
}

/** The parsed options of a pool. */
type PoolOptions = postgres.Sql['options'];

/** Asks one server on a connection of its own. */
async function ask(options: PoolOptions, { host, port }: Address): Promise<Answer | null> {
  const sql = postgres({
    ...options,
    host: [host],
    port: [port],
    max: 1,
    connect_timeout: ANSWER_MAX_MS / 1000,
    target_session_attrs: undefined,
    socket: undefined,
    fetch_types: false,
    shared: { retries: 0, typeArrayMap: {} },
    connection: { application_name: 'manilla' },
    onnotice: () => {},
    // The driver accepts parsed options, which its types do not tell.
  } as object);
  const end = (): void => void sql.end({ timeout: 0 });
  const timer = setTimeout(end, ANSWER_MAX_MS); // also fails the statement
  try {
    const [answer] = await sql<Answer[]>`
      SELECT pg_is_in_recovery() AS "isStandby", CASE WHEN NOT pg_is_in_recovery()
        THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`;
    return answer ?? null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    end();
  }
}

/** The servers of a URL. The pools of a process share one, so that none of them goes back to an older timeline. */
export class Servers {
  readonly #options: PoolOptions;
  readonly addresses: readonly Address[];
  #timelineSeen = 0;
  #found: Promise<Address | null> | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.addresses = options.host.map((host, index) => ({ host, port: options.port[index] ?? 5432 }));
  }

  async askAll(): Promise<Server[]> {
    return await Promise.all(
      this.addresses.map(async (address) => ({ address, answer: await ask(this.#options, address) })),
    );
  }

  /** The primary; null while there is none. */
  findPrimary(): Promise<Address | null> {
    this.#found ??= this.#find();
    return this.#found;
  }

  async #find(): Promise<Address | null> {
    const primary = choosePrimary(await this.askAll(), this.#timelineSeen);
    this.#timelineSeen = Math.max(this.#timelineSeen, primary?.timeline ?? 0);
    setTimeout(() => {
      this.#found = null;
    }, FOUND_FOR_MS).unref();
    return primary?.address ?? null;
  }
}

const byUrl = new Map<string, Servers>();

/** The servers of a URL with several hosts; null for one host. */
export function serversOf(url: string): Servers | null {
  const known = byUrl.get(url);
  if (known !== undefined) return known;
  const servers = new Servers(postgres(url, { max: 1 }).options);
  if (servers.addresses.length === 1) return null;
  byUrl.set(url, servers);
  return servers;
}

/** Whether the server of this pool is a standby. */
export async function isStandby(sql: postgres.Sql): Promise<boolean> {
  const [server] = await new Servers(sql.options).askAll();
  return server?.answer?.isStandby === true;
}
