// The loads of the stage `pressure`. Each is as large as the scale of the run says, and ends when it is drained.
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../measure.ts';
import type { Answer, Client } from './client.ts';
import { type Probed, type Probes, probesOf } from './probes.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const PAYMENTS = 20_000;
const PAYOUT_ITEMS = 1_000;
const DELIVERIES = 700;
const OVERLOAD_SECONDS = 60;
/** In flight at once when requests come as fast as they are taken. */
const CALLERS = 100;
/** Ten times as many in flight as saturate one API process. */
const OVERLOAD_CALLERS = 640;
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
    await pause(sized(60_000, stack));
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
      return { 'expired a second': count / took, 'bare timers a second': timers };
    },
  };
}

const payouts = (stack: Stack): Scenario => ({
  name: 'c: two large payouts',
  probes: { ...probesOf('another', stack.other), ...itemProbe(stack) },
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
  const large = stack.loading.client;
  const opened: Receiver[] = [];
  const paths: string[] = [];
  const probes: Probes = {};
  return {
    name: 'd: endpoints that fail',
    prepare: async () => {
      for (const manner of ['hangs', 'fails', 'accepts'] as const) opened.push(await startReceiver(manner));
      for (const { url } of opened) {
        const { id } = await large.post('/webhook-endpoints', { url });
        paths.push(`/webhook-endpoints/${String(id)}`);
      }
      const healthy = opened[2] as Receiver;
      probes['event to its endpoint, same organisation'] = async () => {
        const { data } = await large.transfer();
        const startedAt = performance.now();
        await healthy.untilTold(data.id as string);
        return performance.now() - startedAt;
      };
      await inParallel(sized(DELIVERIES, stack), CALLERS, () => large.transfer());
      // From here on they wait for the endpoints that hang and fail; the healthy one has them.
      await until(async () => {
        const [row] = await large.book.sql`SELECT FROM outbox WHERE topic = 'event' LIMIT 1`;
        return row === undefined;
      });
    },
    probes,
    everyMs: PROBE_MS,
    load: async () => {
      await pause(sized(30_000, stack));
      return {};
    },
    end: async () => {
      for (const path of paths) await large.call('DELETE', path);
      await Promise.all(opened.map((receiver) => receiver.close()));
    },
  };
}

/** The first three loads in the sandbox, one after the other, beside the live environment. */
function besideLive(stack: Stack): Scenario {
  const loads = [creation(stack), payouts(stack), expiry(stack, 'nothing')];
  return {
    name: 'e: all of it in the sandbox',
    probes: probesOf('live', stack.live),
    everyMs: PROBE_MS,
    load: async () => {
      for (const { prepare, load } of loads) {
        await prepare?.();
        await load();
      }
      return {};
    },
  };
}

const overload = (stack: Stack): Scenario => ({
  name: 'f: ten times too much',
  probes: {},
  everyMs: PROBE_MS,
  load: async () => {
    const answers: { answer: Answer; ms: number }[] = [];
    const before = await transfersOf(stack.loading.client);
    const until = performance.now() + sized(OVERLOAD_SECONDS * 1_000, stack);
    await Promise.all(
      Array.from({ length: OVERLOAD_CALLERS }, async () => {
        while (performance.now() < until) {
          const startedAt = performance.now();
          const answer = await stack.loading.client.transfer();
          answers.push({ answer, ms: performance.now() - startedAt });
          if (answer.retryAfter !== null) await pause(answer.retryAfter * 1_000);
        }
      }),
    );
    const accepted = answers.filter(({ answer }) => answer.status < 300);
    const refused = answers.filter(({ answer }) => [429, 503].includes(answer.status) && answer.retryAfter !== null);
    return {
      'accepted a second': accepted.length / sized(OVERLOAD_SECONDS, stack),
      'accepted p99 ms': percentile(
        accepted.map(({ ms }) => ms),
        0.99,
      ),
      'refused with Retry-After': refused.length,
      'other answers': answers.length - accepted.length - refused.length,
      'accepted and not posted': Math.max(0, accepted.length - ((await transfersOf(stack.loading.client)) - before)),
    };
  },
});

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
