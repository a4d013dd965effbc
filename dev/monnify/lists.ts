// What a fake's lists do beside what is documented: rows with other fields, pages that repeat a row, and no end.
export interface ListFaults {
  /** Fields of the row with this id that are replaced; undefined: the field is missing. */
  readonly rows: Map<string, Readonly<Record<string, unknown>>>;
  /** Each page begins with the last row of the page before. */
  overlaps: boolean;
  /** Every page is the first one, and another follows. */
  loops: boolean;
}

export const noFaults = (): ListFaults => ({ rows: new Map(), overlaps: false, loops: false });

export const faultyRow = ({ rows }: ListFaults, id: string, row: object): object => ({ ...row, ...rows.get(id) });

/** The rows of a page that begins at `start`, and whether another follows. */
export function faultyPage<Row>({ overlaps, loops }: ListFaults, rows: readonly Row[], start: number, size: number) {
  const first = loops ? 0 : start;
  const page = rows.slice(overlaps && first > 0 ? first - 1 : first, first + size);
  return { page, hasMore: loops || first + size < rows.length };
}
