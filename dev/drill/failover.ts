// The drill of a failover: the primary is killed under traffic, its synchronous standby is promoted, the former primary
// comes back as if nothing had happened, and is then made a standby of the new one.
import { setTimeout as wait } from 'node:timers/promises';
import postgres from 'postgres';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import { promote } from '../standby.ts';
import { until } from '../until.ts';
import { type DrillServer, DrillServers, urlsOfAll } from './servers.ts';

/** How long an operator, or what does it for them, takes to notice that the primary is gone. */
const NOTICED_AFTER_MS = 3_000;
/** The former primary runs beside the new one for this long. */
const SIDE_BY_SIDE_MS = 5_000;
const COMMIT_WAITS_WITHIN_MS = 10_000;
/** The kill is this share of the run after its start. */
const AT = 0.4;

export interface FailoverResult {
  verdict: Verdict;
  /** From the kill until the standby accepted writes. */
  promotedAfterMs: number;
  /**
   * The longest that a caller waited for a definite answer, and the longest of the others, which no failover touched.
   */
  waitedMaxMs: number;
  waitedOtherwiseMaxMs: number;
  /** What is wrong with the fencing of the former primary. */
  fencing: string[];
}

export async function failover({ say, logFolder, ...options }: DrillOptions): Promise<FailoverResult> {
  const servers = new DrillServers(say, logFolder);
  let run: ChaosRun | undefined;
  try {
    const primary = await servers.start('primary');
    const standby = await servers.follow('standby', primary);
    const times = { killed: 0, promoted: 0 };
    let fencing: string[] = [];
    const happen = async (): Promise<void> => {
      times.killed = Date.now();
      say('          kill -9 of the primary');
      await servers.kill(primary);
      await wait(NOTICED_AFTER_MS);
      await promote(standby.adminUrl);
      times.promoted = Date.now();
      say(`          the standby is the primary, ${seconds(times.promoted - times.killed)} after the kill`);
      fencing = await comeBack(servers, primary, say);
      await servers.follow('standby_again', standby);
      say('          it is a synchronous standby of the new primary');
    };
    run = await startChaosRun({
      ...options,
      say,
      logFolder,
      drill: { database: urlsOfAll([primary, standby]), atMs: options.seconds * 1000 * AT, happen },
    });
    await run.play();
    const verdict = await run.judge();
    const { operations } = verdict.facts;
    const touched = operations.filter(
      ({ sentAt, answeredAt }) => sentAt <= times.promoted && answeredAt >= times.killed,
    );
    const longest = (some: typeof operations): number =>
      Math.max(0, ...some.map(({ sentAt, answeredAt }) => answeredAt - sentAt));
    return {
      verdict,
      promotedAfterMs: times.promoted - times.killed,
      waitedMaxMs: longest(touched),
      waitedOtherwiseMaxMs: longest(operations.filter((one) => !touched.includes(one))),
      fencing,
    };
  } finally {
    await run?.stop();
    await servers.stop();
  }
}

/**
 * The former primary is started again, as it was, and takes itself for the primary. Nobody may be answered by it: a
 * commit waits for its standby, which is gone, and no process of the service writes to it. Returns what is wrong.
 */
async function comeBack(servers: DrillServers, former: DrillServer, say: (line: string) => void): Promise<string[]> {
  const back = await servers.start(former.name, { port: former.port });
  say('          the former primary is back, and takes itself for the primary');
  const wrong: string[] = [];
  const url = new URL('/manilla', back.adminUrl).href;
  const [writer, observer] = [0, 1].map(() => postgres(url, { max: 1, onnotice: () => {} })) as [
    postgres.Sql,
    postgres.Sql,
  ];
  try {
    const commit = writer`CREATE TABLE written_to_the_former_primary ()`.then(
      () => wrong.push('the former primary answered a commit'),
      () => {},
    );
    await until(
      'a commit on the former primary to wait for its standby',
      async () => {
        const rows = await observer`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
        return rows.length > 0 || wrong.length > 0 || undefined;
      },
      COMMIT_WAITS_WITHIN_MS,
    );
    await wait(SIDE_BY_SIDE_MS);
    const writes = await observer<{ table: string; count: number }[]>`
      SELECT relname AS table, n_tup_ins + n_tup_upd + n_tup_del AS count FROM pg_stat_user_tables
      WHERE n_tup_ins + n_tup_upd + n_tup_del > 0`;
    const waiting = await observer`
      SELECT FROM pg_stat_activity WHERE usename = 'manilla_service' AND wait_event = 'SyncRep'`;
    if (waiting.length > 0) wrong.push(`${waiting.length} commits of the service wait on the former primary`);
    for (const { table, count } of writes)
      wrong.push(`the service wrote ${count} rows of ${table} to the former primary`);
    if (wrong.length === 0) say('          it was not written to, and a commit on it was not answered');
    await servers.kill(back);
    await commit;
  } finally {
    await Promise.all([writer.end({ timeout: 0 }), observer.end({ timeout: 0 })]);
  }
  return wrong;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
