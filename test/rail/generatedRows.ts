// Rows of providers' lists as a list may have them: as documented, with any field missing, of another type or
// unreadable, and what is no row at all. Each comes with what must be concluded from it.
import fc from 'fast-check';
import { jsonNumber, parseJson } from '../../src/rail/http.ts';
import type { StatementLine } from '../../src/rail/port.ts';

type Kind = StatementLine['kind'];
type Fields = Readonly<Record<string, unknown>>;

/** A row, and what must become of it. */
export interface GeneratedRow {
  row: unknown;
  /** The id that it has in every list; null: it has none that can be read. */
  id: string | null;
  /** In kobo. */
  amount: number;
  /**
   * `lines`: of these kinds, with its amount. `set_aside`: with its text. `either`: one of the two, with its amount.
   * `nothing`: it says that no money moved. `nothing_or_aside`: the same, if it can be read.
   */
  fate: 'lines' | 'set_aside' | 'either' | 'nothing' | 'nothing_or_aside';
  kinds: readonly Kind[];
}

export const MISSING = Symbol('missing');

/** What may stand in place of a value. */
const ODD: readonly unknown[] = [
  MISSING,
  null,
  '',
  true,
  {},
  [],
  '2,500.00',
  '2500.001',
  jsonNumber('1e3'),
  '-7.00',
  'a\u0000b',
  'x'.repeat(2_000),
];
const NO_ROWS: readonly unknown[] = [null, 'a text', 7, [], {}, [[]]];

/** A kind of row of a list: what it says, and which of its fields must be readable. */
interface RowKind {
  /** The row of a position in the list, with an amount in naira. */
  rowOf: (id: string, naira: string) => Fields;
  kinds: readonly Kind[];
  /** What cannot be read in one of these sets the row aside, unless it moves no money. */
  needed: readonly string[];
  /** The same, whatever it says. */
  always: readonly string[];
  /** A word in one of these is another word, which may mean something else. */
  words: readonly string[];
}

export interface ListOfKinds {
  kinds: Readonly<Record<string, RowKind>>;
  idField: string;
}

/** The text that is kept of a row: numbers arrive as their text. */
const textOf = (row: unknown): string => JSON.stringify(parseJson(Buffer.from(JSON.stringify(row) ?? 'null')));

function changed(row: Fields, field: string, value: unknown): Fields {
  const { [field]: _, ...rest } = row;
  return value === MISSING ? rest : { ...rest, [field]: value };
}

function fateOf(kind: RowKind, field: string | null): GeneratedRow['fate'] {
  const movesMoney = kind.kinds.length > 0;
  if (field === null) return movesMoney ? 'lines' : 'nothing';
  if (kind.always.includes(field)) return 'set_aside';
  if (kind.words.includes(field)) return movesMoney ? 'either' : 'nothing_or_aside';
  if (kind.needed.includes(field)) return movesMoney ? 'set_aside' : 'nothing_or_aside';
  return movesMoney ? 'lines' : 'nothing';
}

const isText = (value: unknown): boolean => /^("|\d)/.test(JSON.stringify(value) ?? '');

/** A row of the list at a position, which makes its id. */
const rowOf = ({ kinds, idField }: ListOfKinds): fc.Arbitrary<(position: number) => GeneratedRow> =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...NO_ROWS).map((row) => () => noRow(row)) },
    {
      weight: 19,
      arbitrary: fc
        .record({
          name: fc.constantFrom(...Object.keys(kinds)),
          amount: fc.integer({ min: 1, max: 1_000_000_000 }),
          odd: fc.option(fc.record({ field: fc.nat(), value: fc.constantFrom(...ODD) }), { freq: 2 }),
          isReversed: fc.boolean(),
          asNumber: fc.boolean(),
        })
        .map((made) => (position: number) => {
          const kind = kinds[made.name] as RowKind;
          const id = `${idField}-${position}`;
          const digits = String(made.amount).padStart(3, '0');
          const naira = `${digits.slice(0, -2)}.${digits.slice(-2)}`;
          const whole = kind.rowOf(id, naira);
          const fields = Object.keys(whole);
          const field = made.odd === null ? null : (fields[made.odd.field % fields.length] as string);
          // An id of other words is an id, and two rows must not have the same.
          const value = field === idField && isText(made.odd?.value) ? MISSING : made.odd?.value;
          const row = field === null ? whole : changed(whole, field, value);
          const entries = Object.entries(row).map(([name, value]) => [
            name,
            made.asNumber && value === naira ? jsonNumber(naira) : value,
          ]);
          return {
            row: Object.fromEntries([...(made.isReversed ? entries.toReversed() : entries), ['added', { later: 1 }]]),
            id: field === idField ? null : id,
            amount: made.amount,
            fate: fateOf(kind, field),
            kinds: kind.kinds,
          };
        }),
    },
  );

const noRow = (row: unknown): GeneratedRow => ({ row, id: null, amount: 0, fate: 'set_aside', kinds: [] });

/** Pages of rows: in any order, of any sizes, and each may begin with rows of the page before. */
export const pagesOf = (list: ListOfKinds): fc.Arbitrary<{ rows: GeneratedRow[]; pages: unknown[][] }> =>
  fc
    .record({
      made: fc.array(rowOf(list), { minLength: 1, maxLength: 25 }),
      sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 }),
      overlap: fc.integer({ min: 0, max: 2 }),
    })
    .map(({ made, sizes, overlap }) => {
      const rows = made.map((make, position) => make(position));
      const pages: unknown[][] = [];
      for (let start = 0; start < rows.length; ) {
        const size = sizes[pages.length % sizes.length] ?? 1;
        const from = Math.max(0, start - (pages.length === 0 ? 0 : overlap));
        pages.push(rows.slice(from, start + size).map(({ row }) => row));
        start += size;
      }
      return { rows, pages };
    });

interface Conclusions {
  lines: readonly StatementLine[];
  unread: readonly { reference: string; raw: string }[];
}

/** The rows of which something else was concluded than must be. */
export function wronglyRead(rows: readonly GeneratedRow[], { lines, unread }: Conclusions): string[] {
  const linesOf = Map.groupBy(lines, ({ row }) => row);
  const texts = new Set(unread.map(({ raw }) => raw));
  return rows.flatMap(({ row, id, amount, fate, kinds }) => {
    const read = (id === null ? undefined : linesOf.get(id)) ?? [];
    const isAside = texts.has(textOf(row));
    const isWhole = read.length > 0 && read.every((line) => line.amount === amount);
    const isRight = {
      lines: isWhole && !isAside && String(read.map(({ kind }) => kind)) === String(kinds),
      set_aside: read.length === 0 && isAside,
      either: isWhole !== isAside,
      nothing: read.length === 0 && !isAside,
      nothing_or_aside: read.length === 0,
    }[fate];
    return isRight ? [] : [`${fate}: ${JSON.stringify(row)} became ${JSON.stringify(read)}, set aside: ${isAside}`];
  });
}
