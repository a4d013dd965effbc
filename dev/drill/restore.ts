// The drill of a restore of the database to a point in time, while Temporal and the bank are newer (docs/operating.md):
// the service starts held, operators import what the bank has paid and the books do not know, and release it.
import { setTimeout as wait } from 'node:timers/promises';
import { APPLICATIONS, type Plan, secondsText } from '../chaos/plan.ts';
import { type ChaosStack, startChaosStack } from '../chaos/stack.ts';
import { until } from '../until.ts';
import { archiveNow, archiveOf, archiving, backUp, recovering, untilRecovered } from './archive.ts';
import {
  type BankBook,
  type BankTransfer,
  compareBalances,
  keepBankBook,
  listBankTransfers,
  putBankBook,
} from './bankBook.ts';
import { type CommandLine, commandLineOf } from './commandLine.ts';
import { type DrillServer, DrillServers } from './servers.ts';
import { World } from './world.ts';

const RECOVERED_WITHIN_MS = 60_000;
const WAITS_WITHIN_MS = 30_000;
const AGREES_WITHIN_MS = 30_000;
/** Between what the restore keeps and what it loses. */
const APART_MS = 1_200;
const HOUR_MS = 3_600_000;

export interface RestoreOptions {
  say: (line: string) => void;
  logFolder?: string | undefined;
}

export interface RestoreResult {
  /** What is not as it must be, the first first. */
  wrong: string[];
  /** One line on the whole drill. */
  summary: string;
}

/** What the service did after the time of the restore, which the restored database does not have. */
interface Lost {
  /** Paid by the bank before the restore, or held by it then. */
  paid: string[];
  held: string[];
  /** Never accepted by the bank. */
  unsent: string[];
}

export async function restoreDatabase({ say, logFolder }: RestoreOptions): Promise<RestoreResult> {
  const wrong: string[] = [];
  const servers = new DrillServers(say, logFolder);
  let stack: ChaosStack | undefined;
  try {
    const archive = await archiveOf(servers.folderOf('primary'));
    servers.removeAtEnd(archive);
    const primary = await servers.start('primary', { settings: archiving(archive) });
    stack = await startStack(primary, { say, logFolder }, wrong);
    const world = await World.enter(stack);
    await backUp(primary, servers.folderOf('restored'));
    say('a base backup is made');

    const kept = await workBefore(world);
    const to = await readTime(stack);
    await wait(APART_MS);
    const lost = await workAfter(world, kept);
    say(
      `${lost.paid.length + lost.held.length} transfers at the bank after ${to.toISOString()}, to which the database is restored`,
    );

    const stoppedAt = Date.now();
    await stack.stopApplications();
    const book = await keepBankBook(stack.sql);
    const transfers = await listBankTransfers(stack.sql);
    await archiveNow(primary);
    await servers.kill(primary);
    await restore(servers, { archive, to, book, port: primary.port });
    await untilAnswers(stack);
    await stack.startApplications();
    say(`restored and started ${secondsText(Date.now() - stoppedAt)} after the stop`);

    const cli = commandLineOf(stack, world.participants);
    const waiting = await requireHeld({ stack, world, cli, wrong });
    say('the service is held: both rails are paused, and a new withdrawal waits');
    await requireKeptEnd(world, kept);
    say('while it is held, what the database has ends with the status of the bank, and a lost credit is imported');
    const imported = await importPaid({ stack, world, cli, wrong }, to, lost);
    const heldFor = Date.now() - stoppedAt;
    await cli.run('finance', 'rail', 'resume', 'test', '--reason', 'reconciled');
    await cli.run('finance', 'rail', 'resume', 'live', '--reason', 'reconciled');
    say('released');
    await world.untilStatus(
      'completed',
      waiting.map((id) => `/withdrawals/${id}`),
    );
    await judge(stack, transfers, cli, wrong);
    const summary =
      `database restored to ${to.toISOString()}: ${imported} transfers of ${lost.paid.length + lost.held.length + lost.unsent.length} ` +
      `lost ones imported, none of the ${transfers.length} transfers before was sent again; released ${secondsText(heldFor)} after the stop`;
    return { wrong, summary };
  } finally {
    await stack?.stop();
    await servers.stop();
  }
}

/** A stack on a database of the drill, with right clocks. */
export async function startStack(
  database: { url: string; ownerUrl: string },
  { say, logFolder }: RestoreOptions,
  wrong: string[],
): Promise<ChaosStack> {
  return await startChaosStack({
    clocks: Object.fromEntries(APPLICATIONS.map((part) => [part, 0])) as Plan['clocks'],
    database,
    logFolder,
    say,
    onGiveUp: (reason) => wrong.push(`a process is not started again: ${reason}`),
  });
}

export interface Kept {
  /** Which the bank holds at the time of the restore, and ends after it. */
  held: string[];
  payout: { id: string; items: string[] };
  payment: { id: string; accountNumber: string; payable: number };
}

export async function workBefore(world: World): Promise<Kept> {
  const ended = await world.withdraw('completes', 4);
  const [held, payout, payment] = [
    await world.withdraw('holds', 3),
    await world.payOut(2, 2),
    await world.requestPayment(),
  ];
  await world.untilStatus(
    'completed',
    ended.map((id) => `/withdrawals/${id}`),
  );
  await world.untilSent([...held, ...payout.items]);
  return { held, payout, payment };
}

export async function workAfter(world: World, kept: Kept): Promise<Lost> {
  const ended = await world.withdraw('completes', 4);
  const payout = await world.payOut(2, 0);
  const held = await world.withdraw('holds', 2);
  const unsent = await world.withdraw('unavailable', 1);
  await world.endHeld([...kept.held, ...kept.payout.items]);
  await world.credit(kept.payment.accountNumber, kept.payment.payable);
  await world.untilStatus(
    'completed',
    [...kept.held, ...ended].map((id) => `/withdrawals/${id}`),
  );
  await world.untilStatus(
    'completed',
    [kept.payout.id, payout.id].map((id) => `/payouts/${id}`),
  );
  await world.untilStatus('settled', [`/payments/${kept.payment.id}`]);
  await world.untilSent([...held, ...unsent]);
  return { paid: [...ended, ...payout.items], held, unsent };
}

async function readTime({ sql }: ChaosStack): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  return row?.now ?? new Date();
}

/** Recovers the backup on a port of its own, gives the bank its book back, and starts it where the primary was. */
async function restore(
  servers: DrillServers,
  { archive, to, book, port }: { archive: string; to: Date; book: BankBook; port: number },
): Promise<DrillServer> {
  const recovered = await servers.recover('restored', recovering(archive, to));
  await untilRecovered(recovered.adminUrl, RECOVERED_WITHIN_MS);
  await servers.withOwner(recovered, (sql) => putBankBook(sql, book));
  await servers.dismiss(recovered);
  return await servers.start('restored', { port });
}

/** The pool has connections to the server before. */
async function untilAnswers({ sql }: ChaosStack): Promise<void> {
  const answers = (): Promise<true | undefined> =>
    sql`SELECT`.then(
      () => true,
      () => undefined,
    );
  await until('the restored database to answer', answers, WAITS_WITHIN_MS);
}

interface Context {
  stack: ChaosStack;
  world: World;
  cli: CommandLine;
  wrong: string[];
}

/** Both rails are paused, and what callers request meanwhile is accepted and not sent. Returns it. */
async function requireHeld({ stack, world, cli, wrong }: Context): Promise<string[]> {
  const rails = await cli.run<{ environment: string; paused: boolean }[]>('finance', 'rail', 'show');
  for (const { environment, paused } of rails) if (!paused) wrong.push(`the rail ${environment} was not paused`);
  const ids = await world.withdraw('completes', 2);
  const waits = async (): Promise<true | undefined> => {
    const parked = await cli.run<{ id: string; attention: string }[]>('finance', 'attention', 'list');
    const paused = parked.filter(({ attention }) => attention === 'rail_paused').map(({ id }) => id);
    return ids.every((id) => paused.includes(id)) || undefined;
  };
  await until('the new withdrawals to wait', waits, WAITS_WITHIN_MS);
  const sent = await stack.sql`SELECT FROM sandbox_bank.requests WHERE reference = ANY (${ids})`;
  if (sent.length > 0) wrong.push(`${sent.length} withdrawals were sent while the service was held`);
  return ids;
}

/** What the database has ends with the status of the bank. */
async function requireKeptEnd(world: World, { held, payout, payment }: Kept): Promise<void> {
  await world.untilStatus(
    'completed',
    held.map((id) => `/withdrawals/${id}`),
  );
  await world.untilStatus('completed', [`/payouts/${payout.id}`]);
  await world.untilStatus('settled', [`/payments/${payment.id}`]);
}

/**
 * The runbook: reconcile, list, import, approve, end the flows. Returns the number of imported transfers.
 */
async function importPaid({ stack, world, cli, wrong }: Context, to: Date, lost: Lost): Promise<number> {
  await world.endHeld(lost.held);
  const since = to.toISOString();
  await cli.run('finance', 'reconciliation', 'run', '--from', new Date(to.getTime() - HOUR_MS).toISOString());
  const flows = await cli.run<{ id: string; paidAt: string | null }[]>('finance', 'flows', 'lost', '--since', since);
  const paid = flows.filter(({ paidAt }) => paidAt !== null).map(({ id }) => id);
  const expected = [...lost.paid, ...lost.held];
  for (const id of expected) if (!paid.includes(id)) wrong.push(`the bank has paid ${id}, which is not reported`);
  for (const id of paid) if (!expected.includes(id)) wrong.push(`${id} is reported as paid by the bank`);
  for (const id of lost.unsent) if (!flows.some((flow) => flow.id === id)) wrong.push(`the lost ${id} is not listed`);

  const grounds = ['--reason', 'restored', '--evidence', 'drill'];
  const importAgain = () =>
    cli.run<{ adjustment: string; refused: string | null }[]>(
      'finance',
      'flows',
      'import',
      '--since',
      since,
      ...grounds,
    );
  const requested = (await importAgain()).filter(({ refused }) => refused === null);
  const again = (await importAgain()).filter(({ refused }) => refused === null);
  if (again.length > 0) wrong.push(`${again.length} transfers were imported twice`);
  for (const { adjustment } of requested)
    await cli.run('approver', 'adjustments', 'approve', adjustment, '--reason', 'agrees with the statement');
  await cli.run('finance', 'flows', 'lost', '--since', since, '--end');
  await untilAgreed(stack, world);
  return requested.length;
}

/** The ledger agrees with the bank. */
export async function untilAgreed({ sql }: ChaosStack, { participants }: World): Promise<void> {
  const agree = async (): Promise<true | undefined> => {
    const { bank, ledger } = await compareBalances(sql, participants.organisationId);
    return bank === ledger || undefined;
  };
  await until('the ledger to agree with the balance at the bank', agree, AGREES_WITHIN_MS);
}

/**
 * Nothing that the bank has was sent again, nothing was paid twice, and the books are whole. `before`: the bank's book
 * at the loss.
 */
export async function judge(
  { sql }: ChaosStack,
  before: readonly BankTransfer[],
  cli: CommandLine,
  wrong: string[],
): Promise<void> {
  const sends = new Map(before.filter(({ accepted }) => accepted).map((one) => [one.reference, one.sends]));
  for (const { reference, sends: now, paid } of await listBankTransfers(sql)) {
    if (paid > 1) wrong.push(`the bank paid ${reference} ${paid} times`);
    if (now > (sends.get(reference) ?? now)) wrong.push(`${reference} was sent again`);
  }
  const { findings } = await cli.run<{ findings: { kind: string; resource: string }[] }>('finance', 'ledger', 'verify');
  // The last reported balance may be from before the adjustments; the balance of now was compared exactly.
  for (const { kind, resource } of findings.filter((one) => one.kind !== 'BANK_BALANCE_MISMATCH'))
    wrong.push(`ledger verify: ${kind} ${resource}`);
}
