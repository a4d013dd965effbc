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

/**
 * The rows of a period. `asked`: the bounds that the list was given, with what their rounding adds. A row outside of
 * these is set aside, because no other period may list it. `timeOf` null: the row has no time yet.
 */
export const ofPeriod = <Row>(
  rows: readonly ListedRow<Row>[],
  timeOf: (row: Row) => Date | null,
  period: Period,
  asked: Period,
): ListedRow<Row>[] =>
  rows.flatMap((listed) => {
    const at = listed.row && timeOf(listed.row);
    if (at === null || isWithin(at, period)) return [listed];
    return isWithin(at, asked) ? [] : [{ ...listed, row: null }];
  });

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
