// Rows of a provider's list, one by one: a row that cannot be read is set aside, and hides no other.
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { railUnknownAnswers } from '../telemetry/metrics.ts';
import { reference as readableText } from './fields.ts';
import type { Period, UnreadRow } from './port.ts';

/** A row whose time cannot be read is of this time, so that it is the same row in each run. */
const NO_TIME = new Date(0);

export interface ListedRow<Row> extends Pick<UnreadRow, 'reference'> {
  /** What was read of it; null: it cannot be read. */
  row: Row | null;
  /** Sets it aside. */
  unread: () => UnreadRow;
}

export const isWithin = (time: Date, { from, to }: Period): boolean => time >= from && time < to;

/** A list may have what is a little outside of its bounds: rounded to hours or days, perhaps of another zone. */
const MARGIN_MS = 24 * 3_600_000;

/**
 * The rows of a period. What is a little outside of it is of another period, which lists it too. What is further
 * outside is set aside, because perhaps no period lists it otherwise. `timeOf` null: the row has no time yet.
 */
export const ofPeriod = <Row>(
  rows: readonly ListedRow<Row>[],
  timeOf: (row: Row) => Date | null,
  period: Period,
  marginMs = MARGIN_MS,
): ListedRow<Row>[] => {
  const around = { from: new Date(period.from.getTime() - marginMs), to: new Date(period.to.getTime() + marginMs) };
  return rows.flatMap((listed) => {
    const at = listed.row && timeOf(listed.row);
    if (at === null || isWithin(at, period)) return [listed];
    return isWithin(at, around) ? [] : [{ ...listed, row: null }];
  });
};

/** `names`: the fields with its id and its times, in the order of preference. */
export function readRows<Row>(
  rail: string,
  rows: readonly unknown[],
  schema: z.ZodType<Row>,
  names: { ids: readonly string[]; times: readonly string[] },
  timeOf: (text: string) => Date | null,
): ListedRow<Row>[] {
  return rows.map((value) => {
    const parsed = schema.safeParse(value);
    const raw = JSON.stringify(value);
    const textsOf = (fields: readonly string[]): string[] =>
      fields.flatMap((name) => readableText.safeParse((value as Record<string, unknown> | null)?.[name]).data ?? []);
    const [reference = `row:${createHash('sha256').update(raw).digest('hex')}`] = textsOf(names.ids);
    const unread = (): UnreadRow => {
      railUnknownAnswers.inc({ rail, kind: 'row' });
      const [at = NO_TIME] = textsOf(names.times).flatMap((text) => timeOf(text) ?? []);
      return { reference, at, raw };
    };
    return { reference, row: parsed.success ? parsed.data : null, unread };
  });
}
