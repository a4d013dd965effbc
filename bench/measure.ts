// How things are measured: every series is warmed up, then measured in several rounds that take turns, so that whatever
// else the machine does in a minute falls on all of them alike.

/** One measurement of a series. */
export interface Sample {
  value: number;
  /** Further figures of the same measurement, for example a percentile. */
  details?: Record<string, number>;
}

/** Something that is measured. */
export interface Series {
  name: string;
  /** Of `value`, for example `transfers/s` or `ms`. */
  unit: string;
  /** Measures once. It is called once more at the beginning, for warming up. */
  measure: () => Promise<Sample>;
}

/** What came out of a series. */
export interface Measured {
  name: string;
  unit: string;
  /** One value a round, in order. */
  rounds: number[];
  min: number;
  median: number;
  max: number;
  /** Median of each further figure. */
  details: Record<string, number>;
}

/** Measures all series, one round of each after the other. Reports each finished measurement; the first failure ends the run. */
export async function measureInterleaved(
  series: readonly Series[],
  rounds: number,
  say: (line: string) => void,
): Promise<Measured[]> {
  const samples = new Map<Series, Sample[]>(series.map((one) => [one, []]));
  // Round 0 warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [one, taken] of samples) {
      const sample = await one.measure();
      if (round === 0) continue;
      taken.push(sample);
      say(`    ${round}/${rounds} ${one.name}: ${formatted(sample.value)} ${one.unit}`);
    }
  }
  return [...samples].map(([one, taken]) => summarise(one.name, one.unit, taken));
}

/** Median, least and most of some samples of one series. */
export function summarise(name: string, unit: string, samples: readonly Sample[]): Measured {
  const rounds = samples.map(({ value }) => value);
  const detailNames = new Set(samples.flatMap(({ details }) => Object.keys(details ?? {})));
  return {
    name,
    unit,
    rounds,
    min: Math.min(...rounds),
    median: median(rounds),
    max: Math.max(...rounds),
    details: Object.fromEntries(
      [...detailNames].map((detail) => [detail, median(samples.map(({ details }) => details?.[detail] ?? 0))]),
    ),
  };
}

/**
 * One series ÷ another: the median of the quotients of the rounds, not the quotient of the medians. Series take turns, so in a round
 * a slow minute of the machine falls on both. NaN where one of the two was not measured.
 */
export function ratio(measured: readonly Pick<Measured, 'name' | 'rounds'>[], one: string, other: string): number {
  const rounds = (name: string) => measured.find((series) => series.name === name)?.rounds ?? [];
  const below = rounds(other);
  return median(rounds(one).map((value, round) => value / (below[round] ?? Number.NaN)));
}

/** The middle value; between two, their mean. */
export function median(values: readonly number[]): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which this share (0 to 1) of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * So many callers, each of which awaits its call before it makes the next, for so many seconds. Answers calls a second,
 * and the latency percentiles in milliseconds.
 */
export async function callInParallel(callers: number, seconds: number, call: () => Promise<unknown>): Promise<Sample> {
  const latencies: number[] = [];
  const begun = performance.now();
  const deadline = begun + seconds * 1000;
  const run = async (): Promise<void> => {
    for (let started = performance.now(); started < deadline; ) {
      await call();
      const ended = performance.now();
      latencies.push(ended - started);
      started = ended;
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  const took = (performance.now() - begun) / 1000;
  return {
    value: latencies.length / took,
    details: { 'p50 ms': percentile(latencies, 0.5), 'p99 ms': percentile(latencies, 0.99) },
  };
}

/** A figure as people read it: three significant digits or whole numbers. */
export function formatted(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toPrecision(3);
}
