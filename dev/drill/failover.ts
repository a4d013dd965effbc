// The drill of a failover: the primary is killed under traffic, its synchronous standby is promoted, the former primary
// is started where the service does not reach it, as what promotes a standby must see to, and is then made a standby of
// the new one.

import { setTimeout as wait } from 'node:timers/promises';
import postgres from 'postgres';
import { secondsText } from '../chaos/plan.ts';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import { promote } from '../standby.ts';
import { until } from '../until.ts';
import { type DrillServer, DrillServers, urlsOfAll } from './servers.ts';

/** How long an operator, or what does it for them, takes to notice that the primary is gone. */
const NOTICED_AFTER_MS = 3_000;
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
  /** The former primary, which has no standby, answered a commit. */
  answeredAlone: boolean;
}

export async function failover({ say, logFolder, ...options }: DrillOptions): Promise<FailoverResult> {
  const servers = new DrillServers(say, logFolder);
  let run: ChaosRun | undefined;
  try {
    const primary = await servers.start('primary');
    const standby = await servers.follow('standby', primary);
    const times = { killed: 0, promoted: 0 };
    let answeredAlone = false;
    const happen = async (): Promise<void> => {
      times.killed = Date.now();
      say('          kill -9 of the primary');
      await servers.kill(primary);
      await wait(NOTICED_AFTER_MS);
      await promote(standby.adminUrl);
      times.promoted = Date.now();
      say(`          the standby is the primary, ${secondsText(times.promoted - times.killed)} after the kill`);
      answeredAlone = await answersAlone(servers, primary);
      if (!answeredAlone) say('          a commit on the former primary is not answered');
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
      answeredAlone,
    };
  } finally {
    await run?.stop();
    await servers.stop();
  }
}

/** Whether the former primary answers a commit, started as it was on another port. It must wait for its standby. */
async function answersAlone(servers: DrillServers, former: DrillServer): Promise<boolean> {
  const back = await servers.start(former.name);
  const url = new URL('/manilla', back.adminUrl).href;
  const writer = postgres(url, { max: 1, onnotice: () => {} });
  const observer = postgres(url, { max: 1, onnotice: () => {} });
  let isAnswered = false;
  try {
    const commit = writer`CREATE TABLE written_to_the_former_primary ()`.then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await until(
      'a commit on the former primary to wait for its standby',
      async () => {
        const rows = await observer`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
        return rows.length > 0 || isAnswered || undefined;
      },
      COMMIT_WAITS_WITHIN_MS,
    );
    await servers.kill(back);
    await commit;
  } finally {
    await Promise.all([writer.end({ timeout: 0 }), observer.end({ timeout: 0 })]);
  }
  return isAnswered;
}
