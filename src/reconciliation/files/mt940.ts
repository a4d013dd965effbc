// SWIFT MT940, as banks hand it out: with or without the blocks in braces, with any line ending, and with the
// information about an entry (:86:) over several lines.
import { CURRENCY } from '../../money.ts';
import { dayAfter, dayOf, dayStart, LAGOS_OFFSET_MS, timeAt } from '../../times.ts';
import {
  type AccountStatement,
  type FileEntry,
  kindOf,
  koboOf,
  ourReferenceIn,
  StatementFileError,
} from './statement.ts';

/** A field such as `:61:`, with its lines up to the next one. `line` counts from 1. */
interface Field {
  tag: string;
  lines: string[];
  line: number;
}

/** Another message of SWIFT, by its second block. */
const OTHER_MESSAGE = /\{2:[IO](?!940)(\d{3})/;
const FIELD = /^:(\d\d[A-Z]?):(.*)$/;
/** The end of a message: `-}` or `-`, and for some banks `}`; the blocks after it may be on the same line. */
const END = /^(-?\}?|-\}\{.*)$/;
/** Date, amount of a balance; a letter for its side before them. */
const BALANCE = /^([CD])(\d{6})([A-Z]{3})(\d+[.,]\d*)$/;
/**
 * Value date, entry date, side (R: a reversal, E: expected), third letter of the currency, amount, code of the type,
 * our customer's reference and the bank's.
 */
const ENTRY = /^(\d{6})(\d{4})?(R|E)?([CD])([A-Z])?(\d+[.,]\d*)[NFS]([A-Z0-9]{3})(.*?)(?:\/\/(.*))?$/;

export const isMt940 = (text: string): boolean => /^\s*(\{1:|:20:)/m.test(text);

/** Throws StatementFileError. */
export function parseMt940(text: string): AccountStatement[] {
  const other = OTHER_MESSAGE.exec(text)?.[1];
  if (other !== undefined) throw new StatementFileError(1, 1, `it is an MT${other}. Import the MT940 of the day`);
  const statements: AccountStatement[] = [];
  let current: AccountStatement | undefined;
  let information: Field | null = null;
  for (const field of fieldsOf(text)) {
    if (field.tag === '20') {
      current = { account: null, entries: [], from: null, closing: null };
      statements.push(current);
    }
    if (current === undefined) throw problemOf(field, 'a statement begins with :20:');
    information = readField(current, field, information);
  }
  if (statements.length === 0) throw new StatementFileError(1, 1, 'it has no field :20:');
  return statements;
}

function fieldsOf(text: string): Field[] {
  const fields: Field[] = [];
  let isOpen = false;
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const line = raw.replace(/^(\{[^{}]*\})*\{4:/, '').trimEnd();
    const [, tag, first = ''] = FIELD.exec(line) ?? [];
    if (tag !== undefined) {
      fields.push({ tag, lines: [first], line: index + 1 });
      isOpen = true;
    } else if (END.test(line)) isOpen = isOpen && line === '';
    else if (isOpen) fields.at(-1)?.lines.push(line);
  }
  return fields;
}

const problemOf = ({ line, tag }: Field, problem: string): StatementFileError =>
  new StatementFileError(line, 1, `:${tag}: ${problem}`);

/** Adds a field to its statement. Returns the entry that an :86: after it is about. */
function readField(statement: AccountStatement, field: Field, before: Field | null): Field | null {
  const [text = ''] = field.lines;
  switch (field.tag) {
    case '25':
      statement.account = text.replaceAll(/\s/g, '').replace(/^.*\//, '');
      return null;
    case '60F':
    case '60M': {
      statement.from ??= dayStart(dayAfter(balanceOf(field).day)); // the closing balance of the statement before
      return null;
    }
    case '62F':
    case '62M': {
      const { day, balance } = balanceOf(field);
      statement.closing = { balance, at: dayStart(dayAfter(day)) };
      return null;
    }
    case '61':
      if (/^\d{6}(\d{4})?E/.test(text)) return null; // expected, not booked
      statement.entries.push(entryOf(field, ''));
      return field;
    case '86':
      if (before !== null) statement.entries.splice(-1, 1, entryOf(before, field.lines.join('')));
      return null;
    default:
      return null;
  }
}

function balanceOf(field: Field) {
  const [, side, day = '', currency, amount = ''] = BALANCE.exec(field.lines.join('').trim()) ?? [];
  const kobo = koboOf(amount);
  if (kobo === null) throw problemOf(field, 'must be a balance, such as C261130NGN1526,50');
  if (currency !== CURRENCY) throw problemOf(field, `must be in ${CURRENCY}`);
  return { day: dayOf(dateOf(field, day)), balance: side === 'C' ? kobo : -kobo };
}

/** `information`: the text of its :86:, without the breaks of its lines. */
function entryOf(field: Field, information: string): FileEntry {
  const [first = '', ...supplement] = field.lines;
  const [, valueDate = '', entryDate, mark, side, , amount = '', code = '', customer = '', bank = ''] =
    ENTRY.exec(first) ?? [];
  const kobo = koboOf(amount);
  if (kobo === null) throw problemOf(field, 'must be an entry, such as 2611301130C1526,50NTRFNONREF//REF1');
  const ours = ourReferenceIn(`${customer} ${supplement.join('')} ${information}`);
  const isReversal = mark === 'R';
  // RC takes a credit back and RD a debit: the money moves the other way.
  const isCredit = (side === 'C') !== isReversal;
  const [theirs = null] = [bank, customer].map((one) => one.trim()).filter((one) => one !== '' && one !== 'NONREF');
  return {
    kind: kindOf({ isCredit, isReversal, isOurs: ours !== null, code }),
    word: code.toLowerCase(),
    reference: ours ?? theirs,
    amount: kobo,
    charge: 0,
    at: bookingDate(field, valueDate, entryDate),
  };
}

/** The entry date has no year: it is the day nearest to the value date. */
function bookingDate(field: Field, valueDate: string, entryDate: string | undefined): Date {
  const value = dateOf(field, valueDate);
  if (entryDate === undefined) return value;
  const year = Number(valueDate.slice(0, 2));
  const [near] = [year - 1, year, year + 1]
    .flatMap((one) => dateFrom(`${String(one).padStart(2, '0')}${entryDate}`) ?? [])
    .toSorted((one, two) => Math.abs(one.getTime() - value.getTime()) - Math.abs(two.getTime() - value.getTime()));
  if (near === undefined) throw problemOf(field, 'has an entry date that does not exist');
  return near;
}

function dateOf(field: Field, text: string): Date {
  const date = dateFrom(text);
  if (date === null) throw problemOf(field, 'has a date that does not exist');
  return date;
}

/** The start of a day, `YYMMDD`. */
function dateFrom(text: string): Date | null {
  const [year = 0, month = 0, day = 0] = [0, 2, 4].map((start) => Number(text.slice(start, start + 2)));
  return timeAt({ year: 2000 + year, month, day }, LAGOS_OFFSET_MS);
}
