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
