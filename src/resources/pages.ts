// What all list queries share: the requested page, the filters, and the SQL of both.
import postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { hasPairs, type Metadata } from './references.ts';

/** The sort position of a row. The next page starts after the position of the last row. */
export interface Position {
  createdAt: Date;
  id: Uuid | number;
}

/** By creation time: oldest or newest first. */
export const ORDERS = ['asc', 'desc'] as const;

export interface PageRequest {
  limit: number;
  after: { createdAt: Date; id: string } | null;
  /** Default: newest first. */
  order?: (typeof ORDERS)[number] | undefined;
}

/** SQL: the direction of a page, and the comparison of what comes after a position. */
export const directionOf = (sql: Sql, { order = 'desc' }: Pick<PageRequest, 'order'>) =>
  order === 'asc' ? ([sql`ASC`, sql`>`] as const) : ([sql`DESC`, sql`<`] as const);

/** A period: its beginning is in it, its end is not, so that each row is in exactly one of consecutive periods. */
export interface ListFilters {
  createdAtFrom?: Date | undefined;
  createdAtTo?: Date | undefined;
  /** Of a table that has metadata: rows that have all of these pairs. */
  metadata?: Metadata | undefined;
}

/** SQL: the conditions of a list's filters. Each filter is the value of the column with its name. */
export function filterClause<Filters extends ListFilters>(
  sql: Sql,
  book: Book,
  { createdAtFrom, createdAtTo, metadata, ...equalities }: Filters,
  table?: string,
) {
  const column = columnOf(sql, table);
  const createdAt = column('created_at');
  const equal = Object.entries(equalities)
    .filter((filter): filter is [string, string] => Boolean(filter[1]))
    .map(([name, value]) => sql`AND ${column(postgres.fromCamel(name))} = ${value}`);
  return sql`
    ${equal.length > 0 ? equal : sql``}
    ${metadata ? sql`AND ${hasPairs(sql, book, metadata, column)}` : sql``}
    ${createdAtFrom ? sql`AND ${createdAt} >= ${createdAtFrom}` : sql``}
    ${createdAtTo ? sql`AND ${createdAt} < ${createdAtTo}` : sql``}`;
}

/** SQL: a value of an enumeration, not as a parameter, so that a partial index fits. */
export function literalOf(sql: Sql, value: string) {
  if (!/^[a-z_.]+$/.test(value)) throw new Error(`no value of an enumeration: ${value}`);
  return sql.unsafe(`'${value}'`);
}

interface PageOptions {
  table?: string;
  /** Columns, if not `id` and `created_at` of the table. */
  id?: string;
  createdAt?: string;
  /** Few rows meet the conditions, which the planner does not know: they are sorted, and no index of times is read. */
  few?: boolean;
}

/** The end of a list query: filters, order, after the previous page, and one row more if there is another. */
export function pageClause<Filters extends ListFilters>(
  sql: Sql,
  book: Book,
  filters: Filters,
  { after, limit, order }: PageRequest,
  { table, id: idName = 'id', createdAt: timeName, few = filters.metadata !== undefined }: PageOptions = {},
) {
  const column = columnOf(sql, table);
  const createdAt = timeName === undefined ? column('created_at') : sql(timeName);
  const id = column(idName);
  const [direction, isAfter] = directionOf(sql, { order });
  return sql`
    ${filterClause(sql, book, filters, table)}
    ${after ? sql`AND (${createdAt}, ${id}) ${isAfter} (${after.createdAt}, ${after.id})` : sql``}
    ORDER BY ${few ? sql`${createdAt} + interval '0'` : createdAt} ${direction}, ${id} ${direction} LIMIT ${limit + 1}`;
}

const columnOf = (sql: Sql, table: string | undefined) => (name: string) =>
  sql(table === undefined ? name : `${table}.${name}`);
