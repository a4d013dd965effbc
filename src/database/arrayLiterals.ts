// Array literals of Postgres, for statements that write many rows: each column is sent as one array. The generic
// serialiser of the driver takes three times as long, which limits the throughput of a busy process.

/** An array literal: `{a,b,NULL}`. */
export type ArrayText = string;

/** A column of values that need no quotes: ids, numbers, times and fixed words. */
export function arrayLiteral<Row>(
  rows: readonly Row[],
  value: (row: Row) => string | number | null | undefined,
): ArrayText {
  return `{${rows.map((row) => value(row) ?? 'NULL').join()}}`;
}

/** A column of arbitrary texts. */
export function quotedArrayLiteral<Row>(
  rows: readonly Row[],
  text: (row: Row) => string | null | undefined,
): ArrayText {
  const quote = (row: Row): string => {
    const value = text(row);
    if (value === undefined || value === null) return 'NULL';
    return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
  };
  return `{${rows.map(quote).join()}}`;
}
