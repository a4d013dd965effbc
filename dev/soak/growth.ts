// What grew during a soak: a pure function of samples. What levels must not have grown late in the run by more than its
// slack. The growth of each an hour is printed.

export type Unit = 'bytes' | 'count';

/** The samples of one thing, the oldest first. */
export interface Series {
  of: 'process' | 'table' | 'queue';
  name: string;
  unit: Unit;
  /** By how much it may have grown late in the run; null: it grows with the traffic, or nothing is required of it. */
  slack: number | null;
  points: readonly { atMs: number; value: number }[];
}

export interface Growth extends Omit<Series, 'points'> {
  first: number;
  last: number;
  perHour: number;
  /**
   * By how much it grew from the middle to the end: its least value, which a burst does not raise, or its greatest,
   * which a collection of garbage does not lower, whichever grew less. A leak raises both.
   */
  late: number;
  growsTooMuch: boolean;
}

interface Range {
  least: number;
  most: number;
}

const HOUR_MS = 3_600_000;
/** Caches fill at the start. */
const WARM_UP = 0.2;
const MIDDLE = { from: 0.4, to: 0.6 };
const END = { from: 0.9, to: 1 };
/** What levels may vary by this share. */
const VARIES = 0.25;

export function growthOf({ points, ...series }: Series): Growth {
  const start = points[0]?.atMs ?? 0;
  const length = (points.at(-1)?.atMs ?? 0) - start;
  const valuesIn = ({ from, to }: { from: number; to: number }): number[] =>
    points.filter(({ atMs }) => atMs >= start + from * length && atMs <= start + to * length).map(({ value }) => value);
  const [middle, end] = [valuesIn(MIDDLE), valuesIn(END)].map((values) => ({
    least: Math.min(...values),
    most: Math.max(...values),
  })) as [Range, Range];
  const late = Math.min(end.least - middle.least, end.most - middle.most);
  return {
    ...series,
    first: points[0]?.value ?? 0,
    last: points.at(-1)?.value ?? 0,
    perHour: HOUR_MS * slopeOf(points.filter(({ atMs }) => atMs >= start + WARM_UP * length)),
    late,
    growsTooMuch: series.slack !== null && late > Math.max(series.slack, VARIES * middle.least),
  };
}

/** By least squares, for each millisecond. */
function slopeOf(points: Series['points']): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [at, value] = [mean(points.map((point) => point.atMs)), mean(points.map((point) => point.value))];
  let [above, below] = [0, 0];
  for (const point of points) {
    above += (point.atMs - at) * (point.value - value);
    below += (point.atMs - at) ** 2;
  }
  return below === 0 ? 0 : above / below;
}

/** The lines of a table, with what grows too much marked. */
export function growthTable(growths: readonly Growth[]): string[] {
  const rows = growths.map(({ of, name, unit, slack, first, last, perHour, late, growsTooMuch }) => [
    of,
    name,
    textOf(first, unit),
    textOf(last, unit),
    textOf(perHour, unit),
    slack === null ? '' : `${growsTooMuch ? 'GROWS' : 'levels'} (${textOf(late, unit)})`,
  ]);
  const all = [['', '', 'at start', 'at end', 'an hour', 'late in the run'], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all.map((row) =>
    row
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

const textOf = (value: number, unit: Unit): string =>
  unit === 'bytes' ? `${(value / 2 ** 20).toFixed(1)} MB` : Math.round(value).toLocaleString('en');
