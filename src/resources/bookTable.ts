// A table whose rows belong to a book: finds one by its id, reads a page, changes one that has a version.
import type postgres from 'postgres';
import { firstOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { type ListFilters, type PageRequest, pageClause } from './pages.ts';

export interface Versioned {
  id: Uuid;
  /** Incremented by each change, for optimistic locking: a stale version is a conflict. */
  version: number;
}

/** The row after a change. */
export const nextVersion = <Row extends { version: number }>(
  row: Row,
  changes: Partial<Omit<Row, 'version'>>,
): Row => ({
  ...row,
  ...changes,
  version: row.version + 1,
});

/** The filters of a list: by the values of these columns, and by the time of creation. */
export type FiltersOf<Row, Column extends keyof Row> = ListFilters & {
  [Name in Column]?: NonNullable<Row[Name]> | undefined;
};

/** The queries of a table by its columns. `Filter`: those of its list. `condition`: which rows, if not all. */
export function bookTable<Row extends object, Filter extends keyof Row = never>(
  table: string,
  columns: (sql: Sql) => postgres.Fragment,
  condition?: (sql: Sql) => postgres.Fragment,
) {
  const rowsOf = (sql: Sql, { organisationId, environment }: Book) => sql`
    SELECT ${columns(sql)} FROM ${sql(table)} WHERE organisation_id = ${organisationId} AND environment = ${environment}
    ${condition === undefined ? sql`` : sql`AND ${condition(sql)}`}`;
  return {
    columns,
    /** SQL: the rows of a book. */
    rowsOf,
    /** The row with this id; null when the book has none. */
    find: (sql: Sql, book: Book, id: Uuid): Promise<Row | null> =>
      firstOf(sql<Row[]>`${rowsOf(sql, book)} AND id = ${id}`),
    /** Those of these rows that the book has. */
    findAll: async (sql: Sql, book: Book, ids: readonly Uuid[]): Promise<Row[]> =>
      await sql<Row[]>`${rowsOf(sql, book)} AND id = ANY (${[...ids]}::uuid[])`,
    /** A page of the rows, newest first, plus one row when another page exists. */
    list: async (sql: Sql, book: Book, filters: FiltersOf<Row, Filter>, page: PageRequest): Promise<Row[]> =>
      await sql<Row[]>`${rowsOf(sql, book)} ${pageClause(sql, book, filters, page)}`,
  };
}
