// The measuring method: every series is warmed up, then all series are measured in interleaved rounds, so that
// background load on the machine affects all of them equally.

/** One measurement of a series. */
export interface Sample {
  value: number;
  /** Additional figures of the same measurement, for example a percentile. */
  details?: Record<string, number>;
}

/** A quantity to measure. */
export interface Series {
  name: string;
  /** The unit of `value`, for example `transfers/s` or `ms`. */
  unit: string;
  /** Measures once. An additional first call is the warm-up. */
  measure: () => Promise<Sample>;
}

/** The results of a series. */
export interface Measured {
  name: string;
  unit: string;
  /** One value per round, in order. */
  rounds: number[];
  min: number;
  median: number;
  max: number;
  /** Median of each additional figure. */
  details: Record<string, number>;
}

/**
 * Measures all series, one round of each after the other. Reports each finished measurement; the first failure ends
 * the run.
 */
export async function measureInterleaved(
  series: readonly Series[],
  rounds: number,
  say: (line: string) => void,
): Promise<Measured[]> {
  const samples = new Map<Series, Sample[]>(series.map((one) => [one, []]));
  // Round 0 is the warm-up.
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
 * One series ÷ another: the median of the quotients per round, not the quotient of the medians. Rounds are interleaved,
 * so a slow phase of the machine affects both series of a round. NaN when one of the two was not measured.
 */
export function ratio(measured: readonly Pick<Measured, 'name' | 'rounds'>[], one: string, other: string): number {
  const rounds = (name: string) => measured.find((series) => series.name === name)?.rounds ?? [];
  const below = rounds(other);
  return median(rounds(one).map((value, round) => value / (below[round] ?? Number.NaN)));
}

/** The middle value; for an even count, the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which this fraction (0 to 1) of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * Runs `call` in this number of concurrent callers for this time; each caller awaits its call before the next. Returns
 * calls a second, and the latency percentiles in milliseconds.
 */
export async function callInParallel(callers: number, seconds: number, call: () => Promise<unknown>): Promise<Sample> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  const run = async (): Promise<void> => {
    for (let callStart = performance.now(); callStart < deadline; ) {
      await call();
      const callEnd = performance.now();
      latencies.push(callEnd - callStart);
      callStart = callEnd;
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  return {
    value: latencies.length / elapsedSeconds,
    details: { 'p50 ms': percentile(latencies, 0.5), 'p99 ms': percentile(latencies, 0.99) },
  };
}

/** Formats a figure with three significant digits, or as a whole number from 100. */
export function formatted(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toPrecision(3);
}
