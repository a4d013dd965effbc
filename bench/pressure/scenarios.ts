// The loads of the stage `pressure`. Each is as large as the scale of the run says, and ends when it is drained.
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../measure.ts';
import { type Answer, type Client, SILENT_PAYEE } from './client.ts';
import { type Probed, type Probes, probesOf } from './probes.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const PAYMENTS = 20_000;
const PAYOUT_ITEMS = 1_000;
const DELIVERIES = 700;
/** Longer than the first retries of the deliveries take to begin. */
const DELIVERIES_SECONDS = 90;
const QUIET_SECONDS = 200;
const CAPACITY_SECONDS = 10;
const OVERLOAD_SECONDS = 60;
const OVERLOAD_FACTOR = 10;
/** In flight at once when requests come as fast as they are taken. */
const CALLERS = 100;
/** Requests of the overload that are open at once, at most: more than the service takes, few enough for the load. */
const OVERLOAD_OPEN_MAX = 2_000;
const OVERLOAD_TICK_MS = 10;
const POLL_MS = 250;
/** A probe of each kind starts this often. All together are about a tenth of what two cores serve. */
const PROBE_MS = 1_000;
/** So few tasks are those of the probes. */
const BACKLOG_MAX = 10;
/** More than the start of a payment's flow takes on two cores. */
const START_MS = 10;
/** A day, so that no payment of another scenario expires meanwhile. */
const NEVER_SECONDS = 86_400;

export interface Stack {
  /** The organisation that loads the service in the sandbox. */
  loading: Probed;
  /** An organisation that does not. */
  other: Probed;
  /** The same organisation as `other`, in the live environment. */
  live: Probed;
  /** Tasks that wait in Temporal's queues. */
  backlog: () => Promise<number>;
  /** Runs this many bare timers that fire at once. Returns how many ended a second. */
  timersPerSecond: (count: number) => Promise<number>;
  /** 1: as large as in the goals. */
  scale: number;
}

/** What a scenario measured beside its probes. */
export type Figures = Record<string, number>;

export interface Scenario {
  name: string;
  /** What it does before the probes start. */
  prepare?: () => Promise<void>;
  probes: Probes;
  everyMs: number;
  load: () => Promise<Figures>;
  end?: () => Promise<void>;
}

export function scenariosOf(stack: Stack): Scenario[] {
  return [
    quiet(stack),
    creation(stack),
    expiry(stack),
    payouts(stack),
    endpoints(stack),
    besideLive(stack),
    overload(stack),
  ];
}

const sized = (count: number, { scale }: Stack): number => Math.max(1, Math.round(count * scale));

const allProbes = ({ loading, other }: Stack): Probes => ({
  ...probesOf('same organisation', loading),
  ...probesOf('another', other),
});

const quiet = (stack: Stack): Scenario => ({
  name: 'quiet',
  probes: { ...allProbes(stack), ...itemProbe(stack), ...probesOf('live', stack.live) },
  everyMs: PROBE_MS,
  load: async () => {
    await pause(sized(QUIET_SECONDS * 1_000, stack));
    return {};
  },
});

const creation = (stack: Stack): Scenario => ({
  name: 'a: payments created',
  probes: allProbes(stack),
  everyMs: PROBE_MS,
  load: async () => {
    const count = sized(PAYMENTS, stack);
    const created = await seconds(() => createPayments(stack.loading.client, count, () => NEVER_SECONDS));
    const drained = await seconds(() => untilStarted(stack));
    return { 'created a second': count / created, 'seconds until drained': drained };
  },
});

function expiry(stack: Stack, beside: 'bare timers' | 'nothing' = 'bare timers'): Scenario {
  const count = sized(PAYMENTS, stack);
  let dueAt = 0;
  let timers = 0;
  return {
    name: 'b: payments expiring',
    prepare: async () => {
      if (beside === 'bare timers') timers = await stack.timersPerSecond(count);
      dueAt = Date.now() + Math.max(70_000, count * START_MS);
      await createPayments(stack.loading.client, count, () => Math.round((dueAt - Date.now()) / 1_000));
      await untilStarted(stack);
      if (Date.now() > dueAt) throw new Error('the payments expired before their flows were started');
      await pause(dueAt - Date.now());
    },
    probes: allProbes(stack),
    everyMs: PROBE_MS,
    load: async () => {
      const took = await seconds(() => untilExpired(stack.loading.client, new Date(dueAt + 1_000)));
      return { 'expired a second': count / took, 'bare timers a second': timers, 'seconds until drained': took };
    },
  };
}

const payouts = (stack: Stack): Scenario => ({
  name: 'c: two large payouts',
  probes: { ...allProbes(stack), ...itemProbe(stack) },
  everyMs: PROBE_MS,
  load: async () => {
    const large = stack.loading.client;
    const count = sized(PAYOUT_ITEMS, stack);
    const took = await seconds(async () => {
      const created = await Promise.all([large.payOut(count), large.payOut(count)]);
      await Promise.all(created.map(({ id }) => untilPayout(large, id as string)));
    });
    return { 'items a second': (2 * count) / took };
  },
});

/** A payout of one item, until the bank accepts it. */
const itemProbe = ({ other: { client, watch } }: Stack): Probes => ({
  'payout item to the bank, another': async () => {
    const startedAt = performance.now();
    const { items } = await client.payOut(1);
    const [item] = items as { id: string }[];
    await watch.untilAccepted(item?.id ?? '');
    return performance.now() - startedAt;
  },
});

function endpoints(stack: Stack): Scenario {
  const failing = failingEndpoints(stack);
  const probes: Probes = { ...allProbes(stack) };
  return {
    name: 'd: endpoints that fail',
    prepare: async () => {
      const { healthy } = await failing.open();
      probes['event to its endpoint, same organisation'] = async () => {
        const { data } = await stack.loading.client.transfer();
        const startedAt = performance.now();
        await healthy.untilReceived(data.id as string);
        return performance.now() - startedAt;
      };
    },
    probes,
    everyMs: PROBE_MS,
    load: async () => {
      const waiting = failing.count();
      await pause(sized(DELIVERIES_SECONDS * 1_000, stack));
      return { 'requests to the failing endpoints': failing.count() - waiting };
    },
    end: failing.close,
  };
}

/** Endpoints of the loading organisation, one that hangs, one that fails and one that accepts. */
function failingEndpoints(stack: Stack) {
  const { client } = stack.loading;
  const opened: Receiver[] = [];
  const paths: string[] = [];
  return {
    /** Resolves when the one that accepts has all events; the deliveries to the others wait. */
    open: async (): Promise<{ healthy: Receiver }> => {
      for (const manner of ['hangs', 'fails', 'accepts'] as const) opened.push(await startReceiver(manner));
      for (const { url } of opened) {
        const { id } = await client.post('/webhook-endpoints', { url });
        paths.push(`/webhook-endpoints/${String(id)}`);
      }
      const healthy = opened[2] as Receiver;
      await inParallel(sized(DELIVERIES, stack), CALLERS, async () => {
        const { data } = await client.transfer();
        await healthy.untilReceived(data.id as string);
      });
      return { healthy };
    },
    /** Requests that the endpoints which do not accept have had. */
    count: (): number => opened.slice(0, 2).reduce((sum, receiver) => sum + receiver.count(), 0),
    close: async (): Promise<void> => {
      for (const path of paths) await client.call('DELETE', path);
      await Promise.all(opened.map((receiver) => receiver.close()));
    },
  };
}

/**
 * All of it in the sandbox beside the live environment: failing endpoints and a payout to a bank that does not respond
 * the whole time, and the other loads one after the other.
 */
function besideLive(stack: Stack): Scenario {
  const { client } = stack.loading;
  const failing = failingEndpoints(stack);
  const loads = [creation(stack), payouts(stack), expiry(stack, 'nothing')];
  return {
    name: 'e: all of it in the sandbox',
    prepare: async () => {
      await failing.open();
      await client.payOut(sized(PAYOUT_ITEMS, stack), SILENT_PAYEE);
    },
    probes: probesOf('live', stack.live),
    everyMs: PROBE_MS,
    load: async () => {
      const took = await seconds(async () => {
        for (const { prepare, load } of loads) {
          await prepare?.();
          await load();
        }
      });
      return { 'seconds until drained': took };
    },
    end: failing.close,
  };
}

/** Open loop: requests at a fixed rate, whatever the responses are, from callers that do not wait. */
const overload = (stack: Stack): Scenario => ({
  name: 'f: ten times too much',
  probes: probesOf('another', stack.other),
  everyMs: PROBE_MS,
  load: async () => {
    const { client } = stack.loading;
    const capacity = await transfersPerSecond(client, sized(CAPACITY_SECONDS, stack));
    const before = await transfersOf(client);
    const answers: { answer: Answer; ms: number }[] = [];
    const seconds = sized(OVERLOAD_SECONDS, stack);
    const offered = await atRate(OVERLOAD_FACTOR * capacity, seconds, async () => {
      const startedAt = performance.now();
      const answer = await client.transfer();
      answers.push({ answer, ms: performance.now() - startedAt });
    });
    const accepted = answers.filter(({ answer }) => answer.status < 300);
    const refused = answers.filter(({ answer }) => answer.status === 503 && answer.retryAfter !== null);
    return {
      'capacity a second': capacity,
      'offered a second': offered / seconds,
      'accepted a second': accepted.length / seconds,
      'accepted p99 ms': percentile(
        accepted.map(({ ms }) => ms),
        0.99,
      ),
      'refused with a time to wait a second': refused.length / seconds,
      'other answers': offered - accepted.length - refused.length,
      'accepted and not posted': Math.max(0, accepted.length - ((await transfersOf(client)) - before)),
    };
  },
});

/** What one API process serves, with as many callers as saturate it. */
async function transfersPerSecond(client: Client, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (performance.now() < until) {
        await client.transfer();
        count += 1;
      }
    }),
  );
  return count / seconds;
}

/** Starts calls at this rate, as far as the process of the load can; resolves with their number when all have ended. */
async function atRate(perSecond: number, seconds: number, call: () => Promise<void>): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
  const open = new Set<Promise<void>>();
  let started = 0;
  let due = 0;
  for (let last = performance.now(), now = last; now < endsAt; last = now, now = performance.now()) {
    // What a stalled process has not started in time is not made up for by a burst.
    due += (perSecond * Math.min(now - last, 2 * OVERLOAD_TICK_MS)) / 1_000;
    for (; due >= 1 && open.size < OVERLOAD_OPEN_MAX; due -= 1) {
      const done = call()
        .catch(() => undefined)
        .finally(() => open.delete(done));
      open.add(done);
      started += 1;
    }
    due %= 1;
    await pause(OVERLOAD_TICK_MS);
  }
  await Promise.all(open);
  return started;
}

async function transfersOf({ book: { sql, book } }: Client): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM transfers WHERE organisation_id = ${book.organisationId}`;
  return row?.count ?? 0;
}

async function createPayments(client: Client, count: number, expiresIn: () => number): Promise<void> {
  await inParallel(count, CALLERS, () => client.createPayment(expiresIn()));
}

async function inParallel(count: number, callers: number, call: () => Promise<unknown>): Promise<void> {
  let left = count;
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
}

/** Until the flows have been started and have run their first tasks. */
async function untilStarted({
  loading: {
    client: { book },
  },
  backlog,
}: Stack): Promise<void> {
  await until(async () => {
    const [row] = await book.sql`SELECT FROM outbox WHERE topic = 'flow' AND priority = 2 LIMIT 1`;
    return row === undefined && (await backlog()) <= BACKLOG_MAX;
  });
}

/** Until no payment is open that is due by then. */
async function untilExpired({ book: { sql, book } }: Client, due: Date): Promise<void> {
  await until(async () => {
    const [row] = await sql`
      SELECT FROM payments
      WHERE organisation_id = ${book.organisationId} AND status = 'pending' AND expires_at < ${due} LIMIT 1`;
    return row === undefined;
  });
}

async function untilPayout(client: Client, id: string): Promise<void> {
  await until(async () => (await client.call('GET', `/payouts/${id}`)).data.status === 'completed');
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await pause(POLL_MS);
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}
