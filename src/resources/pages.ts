// What every list query takes: the page that is asked for and the filters that all lists share.
import type { Uuid } from '../ids.ts';

/** The last row of a page: the next page starts behind it. */
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
