// Parameters of all list queries: the requested page and the filters that all lists share.
import type { Uuid } from '../ids.ts';

/** The sort position of a row. The next page starts after the position of the last row. */
export interface Position {
  createdAt: Date;
  id: Uuid | number;
}

export interface PageRequest {
  limit: number;
  after: { createdAt: Date; id: string } | null;
}

export interface ListFilters {
  createdAtFrom?: Date | undefined;
  createdAtTo?: Date | undefined;
}

/** A page after which the list goes on in an archive: to ask for the next page fails. */
export interface CutPage<Row> {
  rows: readonly Row[];
  goesOn: true;
}

export type RowsRead<Row> = readonly Row[] | CutPage<Row>;

/** The rows of a page, and whether the list goes on after them although no other row was read. */
export const pageOf = <Row>(read: RowsRead<Row>): { rows: readonly Row[]; goesOn: boolean } =>
  'goesOn' in read ? read : { rows: read, goesOn: false };
