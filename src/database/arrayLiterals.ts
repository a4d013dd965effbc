// Array literals of Postgres (`{a,b,NULL}`), for statements that write many rows. The generic serialiser of the driver
// takes three times as long, which limits the throughput of a busy process.

type Value = string | number | null | undefined;

/** A column of values that need no quotes: ids, numbers, times and fixed words. */
export const arrayLiteral = <Row>(rows: readonly Row[], value: (row: Row) => Value): string =>
  `{${rows.map((row) => value(row) ?? 'NULL').join()}}`;

/** A column of arbitrary texts. */
export function quotedArrayLiteral<Row>(rows: readonly Row[], text: (row: Row) => string | null | undefined): string {
  const quote = (row: Row): string => {
    const value = text(row);
    return value === undefined || value === null ? 'NULL' : quoted(value);
  };
  return `{${rows.map(quote).join()}}`;
}

/** An array of a composite type: the values of each row in the order of its attributes; null for a row that is NULL. */
export function compositeArrayLiteral<Row>(
  rows: readonly Row[],
  values: (row: Row) => readonly Value[] | null,
): string {
  const composite = (row: Row): string => {
    const attributes = values(row);
    return attributes === null ? 'NULL' : compositeText(attributes);
  };
  return `{${rows.map(composite).join()}}`;
}

/** Texts that need no quotes within a composite value. */
const PLAIN = /^[\w.:/+-]+$/;

/** A composite value as an element of an array. A text that is not plain is quoted for the value and for the array. */
function compositeText(attributes: readonly Value[]): string {
  let text = '';
  for (const value of attributes) {
    text += text === '' ? '"(' : ',';
    if (value === null || value === undefined) continue;
    text += typeof value === 'number' || PLAIN.test(value) ? value : escaped(quoted(value));
  }
  return `${text})"`;
}

const escaped = (text: string): string => (/["\\]/.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text);

const quoted = (text: string): string => `"${escaped(text)}"`;
