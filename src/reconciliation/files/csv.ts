// The project's own CSV for bank statements: `kind,reference,amount,at`.
import { CsvError, parse as parseCsv } from 'csv-parse/sync';
import { z } from 'zod';
import { LAGOS_OFFSET_MS, readTime } from '../../times.ts';
import type { LineKind } from '../lines.ts';
import { type AccountStatement, accountOf, type LineAccounts, StatementFileError } from './statement.ts';

/** The header. Amounts are kobo; times are ISO 8601, in Lagos if they name no zone. */
export const CSV_HEADER = ['kind', 'reference', 'amount', 'at'] as const;

const LINE_KINDS: LineKind[] = ['credit', 'recalled', 'sent', 'returned', 'charge', 'settlement', 'interest'];
/** The row of the balance: it has no reference, and its time is the end of the statement. */
const CLOSING = 'closing_balance';

const kobo = z
  .string()
  .regex(/^-?[0-9]{1,15}$/, 'must be a whole number of kobo')
  .transform(Number);
const amount = kobo.refine((value) => value >= 0, 'must not be negative');
const reference = z.string().max(1_000);
const at = z.string().transform((text, context) => {
  const time = readTime(text, LAGOS_OFFSET_MS);
  if (time !== null) return time;
  context.addIssue('must be a time in ISO 8601, such as 2026-01-31T12:00:00+01:00');
  return z.NEVER;
});

const csvClosing = z.object({ kind: z.literal(CLOSING), reference: z.literal('', 'must be empty'), amount: kobo, at });
/** The rows of a deployment with these words of its own. */
const rowOf = (words: readonly string[]) =>
  z.discriminatedUnion(
    'kind',
    [z.object({ kind: z.enum([...LINE_KINDS, ...words]), reference, amount, at }), csvClosing],
    {
      error: `must be one of ${[...LINE_KINDS, ...words, CLOSING].join(', ')}; see STATEMENT_LINE_ACCOUNTS`,
    },
  );

/** Throws StatementFileError. */
export function parseCsvStatement(text: string, booked: LineAccounts): AccountStatement {
  const csvRow = rowOf(Object.keys(booked));
  const statement: AccountStatement = { account: null, entries: [], from: null, closing: null };
  for (const [position, { record, info }] of readRecords(text).entries()) {
    if (position === 0) {
      const column = CSV_HEADER.findIndex((name, index) => record[index] !== name);
      if (column >= 0)
        throw new StatementFileError(info.lines, column + 1, `the header must be ${CSV_HEADER.join(',')}`);
      continue;
    }
    const parsed = csvRow.safeParse(Object.fromEntries(CSV_HEADER.map((name, index) => [name, record[index]])));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const name = CSV_HEADER.find((one) => one === issue?.path[0]) ?? 'kind';
      throw new StatementFileError(info.lines, CSV_HEADER.indexOf(name) + 1, `${name} ${issue?.message}`);
    }
    const row = parsed.data;
    if (row.kind !== CLOSING)
      statement.entries.push({ ...row, kind: kindOfRow(row.kind, booked), word: row.kind, charge: 0 });
    else if (statement.closing === null) statement.closing = { balance: row.amount, at: row.at };
    else throw new StatementFileError(info.lines, 1, `there is a second ${CLOSING}`);
  }
  return statement;
}

/** A word of the deployment says by its account whether money came in. */
function kindOfRow(word: string, booked: LineAccounts): LineKind {
  const account = accountOf(booked, word);
  if (account === undefined || LINE_KINDS.some((kind) => kind === word)) return word as LineKind;
  return account.startsWith('income:') ? 'other_in' : 'other_out';
}

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

function readRecords(text: string): CsvRecord[] {
  try {
    return parseCsv(text, { info: true, skip_empty_lines: true, trim: true }) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines = 1, column = 0 } = error as { lines?: number; column?: number };
    throw new StatementFileError(lines, Number(column) + 1, error.message);
  }
}
