// Pressure: what customers wait for while much else happens: bursts of one organisation, payments that expire together,
// endpoints that fail, a loaded sandbox, and more load than can be served. Beside the same probes while it is quiet.
import type { Measured } from '../measure.ts';
import { formatted } from '../measure.ts';
import { measuredOf, probeWhile } from '../pressure/probes.ts';
import { type Figures, type Scenario, scenariosOf } from '../pressure/scenarios.ts';
import { openStack } from '../pressure/stack.ts';
import type { Goal, Stage } from '../stage.ts';

/** Sizes relative to those of the goals, for trying out: `PRESSURE_SCALE=0.05 npm run bench -- pressure`. */
const SCALE_VARIABLE = 'PRESSURE_SCALE';
const QUICK_SCALE = 0.1;
/** Names or first letters of scenarios, separated by commas; `quiet` always runs. */
const ONLY_VARIABLE = 'PRESSURE_ONLY';

export const pressure: Stage = {
  name: 'pressure',
  title:
    'Latencies while (a) 20,000 payments are created, (b) 20,000 expire at once, (c) two payouts of 1,000 items run, (d) 700 deliveries wait for an endpoint that hangs and one that fails, (e) the sandbox is loaded with a, b, c, d and a bank that does not respond, (f) ten times as many transfers come as can be served.',
  onRequest: true,
  run: async (bench) => {
    const scale = Number(process.env[SCALE_VARIABLE] ?? (bench.quick ? QUICK_SCALE : 1));
    const stack = await openStack(bench, scale);
    const measured: Measured[] = [];
    const figures = new Map<string, Figures>();
    try {
      for (const scenario of scenariosOf(stack).filter(isChosen)) {
        bench.say(`  ${scenario.name}`);
        const [samples, found] = await measure(scenario);
        figures.set(scenario.name, found);
        measured.push(...samples);
        for (const { name, median, max, details } of samples) {
          bench.say(
            `    ${name}: ${formatted(median)} ms, p99 ${formatted(details['p99 ms'] ?? 0)}, max ${formatted(max)}`,
          );
        }
        for (const [name, value] of Object.entries(found)) bench.say(`    ${name}: ${formatted(value)}`);
      }
    } finally {
      await stack.close();
    }
    return {
      measured,
      goals: goalsOf(measured, figures),
      plots: [],
      notes: [
        ...(scale === 1 ? [] : [`Sizes × ${scale}: not for comparing.`]),
        ...[...figures].flatMap(([scenario, found]) => notesOf(scenario, found)),
      ],
    };
  },
};

const isChosen = ({ name }: Scenario): boolean => {
  const only = process.env[ONLY_VARIABLE];
  return only === undefined || name === 'quiet' || only.split(',').some((one) => name.startsWith(one));
};

async function measure({ name, prepare, probes, everyMs, load, end }: Scenario): Promise<[Measured[], Figures]> {
  await prepare?.();
  let figures: Figures = {};
  const samples = await probeWhile(probes, everyMs, async () => {
    figures = await load();
  });
  await end?.();
  return [measuredOf(name, samples), figures];
}

function notesOf(scenario: string, figures: Figures): string[] {
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${formatted(value)}`);
  return texts.length === 0 ? [] : [`${scenario}: ${texts.join(', ')}.`];
}

/** The goals of what was measured. */
function goalsOf(measured: readonly Measured[], figures: ReadonlyMap<string, Figures>): Goal[] {
  const p99 = (name: string): number => measured.find((one) => one.name === name)?.details['p99 ms'] ?? Number.NaN;
  const quiet = (probe: string): number => p99(`quiet: ${probe}`);
  const goals: Goal[] = [];
  const add = (scenario: string, probe: string, atMost: number): void => {
    const name = `${scenario}: ${probe}`;
    if (measured.some((one) => one.name === name)) goals.push({ text: `${name}, p99 ms`, atMost, got: p99(name) });
  };
  for (const scenario of ['a: payments created', 'b: payments expiring', 'e: all of it in the sandbox']) {
    for (const whose of ['same organisation', 'another', 'live']) {
      const probe = `credit to settled, ${whose}`;
      add(scenario, probe, Math.max(2_000, 5 * quiet(probe)));
    }
  }
  for (const kind of ['payout item to the bank', 'withdrawal to the bank', 'credit to settled']) {
    const probe = `${kind}, another`;
    add('c: two large payouts', probe, 3 * quiet(probe) + 2_000);
  }
  add(
    'd: endpoints that fail',
    'event to its endpoint, same organisation',
    2 * quiet('event to its endpoint, another'),
  );
  for (const { name, details } of measured) {
    if (details.refused !== undefined) goals.push({ text: `${name}, refused`, atMost: 0, got: details.refused });
  }
  const expiry = figures.get('b: payments expiring');
  if (expiry !== undefined) {
    const got = (expiry['expired a second'] ?? 0) / (expiry['bare timers a second'] ?? 0);
    goals.push({ text: 'payments expired a second ÷ bare timers', atLeast: 0.6, got });
  }
  const overload = figures.get('f: ten times too much');
  if (overload !== undefined) {
    goals.push(
      {
        text: 'f: accepted transfers, p99 ms',
        atMost: 5 * quiet('transfer, same organisation'),
        got: overload['accepted p99 ms'] ?? Number.NaN,
      },
      { text: 'f: accepted and not posted', atMost: 0, got: overload['accepted and not posted'] ?? Number.NaN },
      { text: 'f: other answers', atMost: 0, got: overload['other answers'] ?? Number.NaN },
    );
  }
  return goals;
}
