// Statements from files, for banks without an API: CSV, and ISO 20022 camt.053. A file is read completely or not at
// all: the first wrong value is reported with its line and column.
import { CsvError, parse as parseCsv } from 'csv-parse/sync';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';
import { CURRENCY, type Kobo } from '../money.ts';
import type { BankLine, LineKind } from './lines.ts';

export interface StatementFile {
  lines: BankLine[];
  /** The closing balance of the file, after all lines before a moment; null if it has none. */
  closing: { balance: Kobo; at: Date } | null;
}

/** A wrong value in a file. Lines and columns count from 1; the column of CSV is the field, of XML the character. */
export class StatementFileError extends Error {
  override readonly name = 'StatementFileError';

  constructor(line: number, column: number, problem: string) {
    super(`line ${line}, column ${column}: ${problem}`);
  }
}

/** The header of a CSV statement. Amounts are kobo; times are ISO 8601 with a time zone. */
export const CSV_HEADER = ['kind', 'reference', 'amount', 'at'] as const;

const LINE_KINDS = ['credit', 'sent', 'returned', 'charge', 'settlement', 'interest'] as const satisfies LineKind[];
/** The row of the balance: it has no reference, and its time is the end of the statement. */
const CLOSING = 'closing_balance';

const kobo = z
  .string()
  .regex(/^-?[0-9]{1,15}$/, 'must be a whole number of kobo')
  .transform(Number);
const amount = kobo.refine((value) => value > 0, 'must be more than 0');
const reference = z.string().min(1, 'is missing').max(100);
const at = z.iso
  .datetime({ offset: true, error: 'must be a time with a time zone, such as 2026-01-31T12:00:00+01:00' })
  .transform((text) => new Date(text));

const csvLine = z.object({ kind: z.enum(LINE_KINDS), reference, amount, at });
const csvClosing = z.object({ kind: z.literal(CLOSING), reference: z.literal('', 'must be empty'), amount: kobo, at });
const csvRow = z.discriminatedUnion('kind', [csvLine, csvClosing], {
  error: `must be one of ${[...LINE_KINDS, CLOSING].join(', ')}`,
});

export function parseCsvStatement(text: string): StatementFile {
  const statement: StatementFile = { lines: [], closing: null };
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
    if (row.kind !== CLOSING) statement.lines.push(row);
    else if (statement.closing === null) statement.closing = { balance: row.amount, at: row.at };
    else throw new StatementFileError(info.lines, 1, `there is a second ${CLOSING}`);
  }
  return statement;
}

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

function readRecords(text: string): CsvRecord[] {
  try {
    return parseCsv(text, { bom: true, info: true, skip_empty_lines: true, trim: true }) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines = 1, column = 0 } = error as { lines?: number; column?: number };
    throw new StatementFileError(lines, Number(column) + 1, error.message);
  }
}

/** What of a camt.053 message is read. An element that may occur more than once is always a list (`LISTS`). */
const LISTS = new Set(['Stmt', 'Bal', 'Ntry', 'NtryDtls', 'TxDtls']);

const money = z.object({
  '#text': z.string().regex(/^[0-9]{1,13}(\.[0-9]{1,2})?$/, 'must be an amount with at most two decimals'),
  '@Ccy': z.literal(CURRENCY, `must be in ${CURRENCY}`),
});
const direction = z.enum(['CRDT', 'DBIT']);
const isoDate = z.union([z.object({ DtTm: z.string() }), z.object({ Dt: z.string() })]);
const refs = z.object({
  EndToEndId: z.string().optional(),
  TxId: z.string().optional(),
  AcctSvcrRef: z.string().optional(),
});
const bankCode = z.object({ Domn: z.object({ Fmly: z.object({ SubFmlyCd: z.string() }) }).optional() });
const details = z.object({ Amt: money.optional(), Refs: refs.optional(), BkTxCd: bankCode.optional() });
const entry = z.object({
  Amt: money,
  CdtDbtInd: direction,
  RvslInd: z.enum(['true', 'false', '1', '0']).optional(),
  Sts: z.union([z.string(), z.object({ Cd: z.string() })]).optional(),
  BookgDt: isoDate,
  AcctSvcrRef: z.string().optional(),
  BkTxCd: bankCode.optional(),
  NtryDtls: z.array(z.object({ TxDtls: z.array(details).optional() })).optional(),
});
const balance = z.object({
  Tp: z.object({ CdOrPrtry: z.object({ Cd: z.string().optional() }) }),
  Amt: money,
  CdtDbtInd: direction,
  Dt: isoDate,
});
const camt053 = z.object({
  Document: z.object({
    BkToCstmrStmt: z.object({ Stmt: z.array(z.object({ Bal: z.array(balance), Ntry: z.array(entry).optional() })) }),
  }),
});
type Entry = z.infer<typeof entry>;

export function parseCamt053(text: string): StatementFile {
  const valid = XMLValidator.validate(text);
  if (valid !== true) throw new StatementFileError(valid.err.line, valid.err.col, valid.err.msg);
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    parseTagValue: false,
    removeNSPrefix: true,
    captureMetaData: true,
    isArray: (name) => LISTS.has(name),
  });
  const document: unknown = parser.parse(text);
  const parsed = camt053.safeParse(document);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw fault(text, document, issue?.path ?? [], issue?.message ?? 'is no camt.053 message');
  }
  const statements = parsed.data.Document.BkToCstmrStmt.Stmt;
  const lines = statements.flatMap((statement, index) =>
    (statement.Ntry ?? []).flatMap((one, position) => {
      const path = ['Document', 'BkToCstmrStmt', 'Stmt', index, 'Ntry', position];
      return linesOf(one, (problem) => fault(text, document, path, problem));
    }),
  );
  const closing = statements.at(-1)?.Bal.find(({ Tp }) => Tp.CdOrPrtry.Cd === 'CLBD');
  if (closing === undefined) return { lines, closing: null };
  const end = timeOf(closing.Dt, 1);
  if (end === null) throw fault(text, document, [], 'the closing balance has no valid date');
  const sign = closing.CdtDbtInd === 'CRDT' ? 1 : -1;
  return { lines, closing: { balance: sign * koboOf(closing.Amt), at: end } };
}

/** A reference of ours: the public id of a transfer, with a number for a repeated return to a sender. */
const OUR_REFERENCE = /^svc_[0-9a-z]{26}_[a-z]{3}(_[1-9]\d{0,4})?$/;
/** ISO 20022 sub-families of what a bank does by itself. */
const CHARGES = new Set(['CHRG', 'COMM', 'FEES', 'TAXE']);
const INTEREST = 'INTR';
const SWEEP = 'SWEP';

/** The lines of an entry: one, or one for each transaction of a batch booking. Pending entries have none. */
function linesOf(one: Entry, failure: (problem: string) => StatementFileError): BankLine[] {
  const status = typeof one.Sts === 'string' ? one.Sts : one.Sts?.Cd;
  if (status !== undefined && status !== 'BOOK') return [];
  const time = timeOf(one.BookgDt, 0);
  if (time === null) throw failure('the booking date is not valid');
  const parts = (one.NtryDtls ?? []).flatMap(({ TxDtls }) => TxDtls ?? []);
  const lines = (parts.length === 0 ? [{}] : parts).map((part: z.infer<typeof details>): BankLine => {
    const own = part.Refs?.EndToEndId;
    const isOurs = own !== undefined && OUR_REFERENCE.test(own);
    const code = part.BkTxCd?.Domn?.Fmly.SubFmlyCd ?? one.BkTxCd?.Domn?.Fmly.SubFmlyCd ?? '';
    const isReversal = one.RvslInd === 'true' || one.RvslInd === '1';
    const theirs = part.Refs?.TxId ?? part.Refs?.AcctSvcrRef ?? one.AcctSvcrRef;
    const name = isOurs ? own : theirs;
    if (name === undefined) throw failure('an entry has no reference (EndToEndId, TxId or AcctSvcrRef)');
    return {
      kind: kindOf(one.CdtDbtInd, code, isOurs || isReversal),
      reference: name,
      amount: koboOf(part.Amt ?? one.Amt),
      at: time,
    };
  });
  const sum = lines.reduce((total, line) => total + line.amount, 0);
  if (sum !== koboOf(one.Amt)) throw failure('the transactions of an entry do not add up to its amount');
  return lines;
}

function kindOf(side: 'CRDT' | 'DBIT', code: string, isTransfer: boolean): LineKind {
  if (side === 'CRDT') {
    if (isTransfer) return 'returned';
    return code === INTEREST ? 'interest' : 'credit';
  }
  if (isTransfer) return 'sent';
  if (code === SWEEP) return 'settlement';
  return CHARGES.has(code) || code === INTEREST ? 'charge' : 'sent';
}

/** Naira with decimals as kobo, without the errors of binary fractions. */
function koboOf({ '#text': text }: z.infer<typeof money>): Kobo {
  const [naira = '0', decimals = ''] = text.split('.');
  return Number(naira + decimals.padEnd(2, '0'));
}

/** A time, or the start of a day in Nigeria, `days` later; null if it is not valid. */
function timeOf(date: z.infer<typeof isoDate>, days: number): Date | null {
  const time = 'DtTm' in date ? Date.parse(date.DtTm) : Date.parse(`${date.Dt}T00:00:00+01:00`) + days * 86_400_000;
  return Number.isNaN(time) ? null : new Date(time);
}

/** The error at the deepest element of a path that the file has. */
function fault(text: string, document: unknown, path: readonly PropertyKey[], problem: string): StatementFileError {
  const metadata = XMLParser.getMetaDataSymbol() as symbol;
  let node: unknown = document;
  let start = 0;
  for (const key of path) {
    if (typeof node !== 'object' || node === null) break;
    node = (node as Record<PropertyKey, unknown>)[key];
    const { startIndex } = ((node as Record<PropertyKey, unknown> | null | undefined)?.[metadata] ?? {}) as {
      startIndex?: number;
    };
    start = startIndex ?? start;
  }
  const before = text.slice(0, start).split('\n');
  const where = path.filter((key) => typeof key === 'string' && /^[A-Z]/.test(key)).at(-1);
  return new StatementFileError(
    before.length,
    (before.at(-1)?.length ?? 0) + 1,
    where === undefined ? problem : `${String(where)}: ${problem}`,
  );
}
