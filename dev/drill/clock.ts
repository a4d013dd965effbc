// The drill of clocks that are wrong: the clock of the database goes back by three minutes and by a day, and forward by
// a day, while money moves; then a credit has no callback, and a standby whose clock lags is promoted. The times of the
// books never decrease, and seals hold. Needs libfaketime.
import { globSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { ChaosStack } from '../chaos/stack.ts';
import { promote } from '../standby.ts';
import { until } from '../until.ts';
import { type CommandLine, commandLineOf } from './commandLine.ts';
import { type RestoreOptions, type RestoreResult, startStack } from './restore.ts';
import { type DrillServer, DrillServers, urlsOfAll } from './servers.ts';
import { World } from './world.ts';

/** Where packages of Debian and Homebrew have it. */
const LIBRARIES = ['/usr/lib/*/faketime/libfaketime.so.1', '/opt/homebrew/lib/faketime/libfaketime.1.dylib'];

/** Offsets of the clock, as libfaketime takes them, in turns. */
const OFFSETS = ['+0', '-180', '+0', '-86400', '+0', '+86400', '+0'];
const LAGS = '-180';

/** Seals leave out what is younger. */
const SEALED_AFTER_MS = 11_000;
const CHANGED_WITHIN_MS = 20_000;

function findLibrary(): string {
  const { LIBFAKETIME } = process.env;
  const [found] = LIBFAKETIME === undefined ? globSync(LIBRARIES) : [LIBFAKETIME];
  if (found !== undefined) return found;
  throw new Error(
    'This drill needs libfaketime: `apt-get install libfaketime` on Debian, or `brew install libfaketime`. Elsewhere, ' +
      'set LIBFAKETIME to the path of the library.',
  );
}

/** The clock of a server, in a file that libfaketime reads every second. */
class Clock {
  readonly env: NodeJS.ProcessEnv;
  readonly #file: string;

  constructor(file: string, library: string) {
    this.#file = file;
    this.set('+0');
    this.env = {
      ...process.env,
      [process.platform === 'darwin' ? 'DYLD_INSERT_LIBRARIES' : 'LD_PRELOAD']: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    };
  }

  set(offset: string): void {
    writeFileSync(this.#file, `${offset}\n`, { mode: 0o644 });
  }
}

export async function wrongClocks({ say, logFolder }: RestoreOptions): Promise<RestoreResult> {
  const library = findLibrary();
  const wrong: string[] = [];
  const servers = new DrillServers(say, logFolder);
  let stack: ChaosStack | undefined;
  try {
    const clock = new Clock(servers.folderOf('clock'), library);
    const lagging = new Clock(servers.folderOf('clock-of-standby'), library);
    lagging.set(LAGS);
    const primary = await servers.start('primary', { env: clock.env });
    const standby = await servers.follow('standby', primary, lagging.env);
    stack = await startStack(urlsOfAll([primary, standby]), { say, logFolder }, wrong);
    const world = await World.enter(stack);
    const cli = commandLineOf(stack, world.participants);
    for (const offset of OFFSETS) {
      clock.set(offset);
      await untilOffset(servers, primary, Number(offset));
      await moveMoney(world);
      await wait(SEALED_AFTER_MS);
      await check({ servers, server: primary, cli, wrong, when: `with the clock at ${offset} s` });
      say(`          the clock is ${offset} s off: money moved, and the books were verified`);
    }
    await loseCallback(world);
    say('          a credit without a callback was found by polling, after the clock was ahead');
    await servers.kill(primary);
    await promote(standby.adminUrl);
    await moveMoney(world);
    await check({ servers, server: standby, cli, wrong, when: 'after the promotion' });
    say(`          a standby whose clock is ${LAGS} s off is the primary: money moved, and the books were verified`);
    const [row] = await servers.withOwner(
      standby,
      (sql) => sql<{ seals: number }[]>`SELECT count(*)::int AS seals FROM ledger.seals`,
    );
    if ((row?.seals ?? 0) === 0) wrong.push('nothing was sealed');
    return { wrong, summary: `clocks: ${OFFSETS.length} times set, one promotion, ${row?.seals ?? 0} seals` };
  } finally {
    await stack?.stop();
    await servers.stop();
  }
}

async function untilOffset(servers: DrillServers, server: DrillServer, seconds: number): Promise<void> {
  const isSet = async (): Promise<true | undefined> => {
    const [row] = await servers.withOwner(server, (sql) => sql<{ at: Date }[]>`SELECT clock_timestamp() AS at`);
    return Math.abs((row?.at.getTime() ?? 0) - Date.now() - seconds * 1_000) < 2_000 || undefined;
  };
  await until(`the clock to be ${seconds} s off`, isSet, CHANGED_WITHIN_MS);
}

async function moveMoney(world: World): Promise<void> {
  const ids = await world.withdraw('completes', 3);
  await world.untilStatus(
    'completed',
    ids.map((id) => `/withdrawals/${id}`),
  );
}

/** Polling has stored that it asked the bank up to a time that is still to come. */
async function loseCallback(world: World): Promise<void> {
  const { id, accountNumber, payable } = await world.requestPayment();
  await world.credit(accountNumber, payable, false);
  await world.untilStatus('settled', [`/payments/${id}`]);
}

/** Seals what is old enough, and verifies the books. */
async function check({
  servers,
  server,
  cli,
  wrong,
  when,
}: {
  servers: DrillServers;
  server: DrillServer;
  cli: CommandLine;
  wrong: string[];
  when: string;
}): Promise<void> {
  const [row] = await servers.withOwner(server, async (sql) => {
    await sql`SELECT FROM ledger.seal(now() - interval '10 s', 20000)`;
    return await sql<{ decreased: number }[]>`
      SELECT count(*)::int AS decreased FROM (
        SELECT created_at < lag(created_at) OVER (PARTITION BY account ORDER BY number) AS is_earlier FROM (
          SELECT debit_account_id AS account, debit_number AS number, created_at FROM ledger.postings WHERE debit_number > 0
          UNION ALL
          SELECT credit_account_id, credit_number, created_at FROM ledger.postings WHERE credit_number > 0
        ) entries
      ) ordered WHERE is_earlier`;
  });
  if ((row?.decreased ?? 0) > 0) wrong.push(`${when}: ${row?.decreased} entries are dated before the one before them`);
  const { findings } = await cli.run<{ findings: { kind: string; resource: string | null }[] }>(
    'finance',
    'ledger',
    'verify',
  );
  // The sandbox bank has the same clock, and dates its lines before the time up to which they were compared.
  for (const { kind, resource } of findings.filter((one) => one.kind !== 'BANK_BALANCE_MISMATCH'))
    wrong.push(`${when}, ledger verify: ${kind} ${resource ?? ''}`);
}
