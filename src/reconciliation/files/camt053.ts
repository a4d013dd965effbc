// ISO 20022 camt.053, versions 02 to 10, which differ in where they put the amounts and the status of an entry.
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';
import { CURRENCY, type Kobo } from '../../money.ts';
import { dayAfter, dayStart, LAGOS_OFFSET_MS, readDay, readTime } from '../../times.ts';
import {
  type AccountStatement,
  type FileEntry,
  kindOf,
  koboOf,
  ourReferenceIn,
  StatementFileError,
} from './statement.ts';

/** The elements that may occur more than once; each is always read as a list. */
const LISTS = new Set(['Stmt', 'Bal', 'Ntry', 'NtryDtls', 'TxDtls', 'Chrgs', 'Rcrd']);

/** An element without content is an empty text. */
const element = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess((value) => (value === '' ? {} : value), z.object(shape));
const list = <Item extends z.ZodType>(item: Item) => z.array(item).optional().default([]);

const money = z
  .object({ '#text': z.string(), '@Ccy': z.literal(CURRENCY, `must be in ${CURRENCY}`) })
  .transform(({ '#text': text }, context) => {
    const kobo = koboOf(text);
    if (kobo !== null) return kobo;
    context.addIssue('must be an amount in whole kobo, such as 1526.50');
    return z.NEVER;
  });
const direction = z.enum(['CRDT', 'DBIT']);
const date = element({ DtTm: z.string().optional(), Dt: z.string().optional() });
const refs = element({
  EndToEndId: z.string().optional(),
  TxId: z.string().optional(),
  UETR: z.string().optional(),
  AcctSvcrRef: z.string().optional(),
});
const bankCode = element({
  Domn: element({ Fmly: element({ SubFmlyCd: z.string() }) }).optional(),
  Prtry: element({ Cd: z.string() }).optional(),
});
const charges = list(
  element({ Amt: money.optional(), Rcrd: list(element({ Amt: money, CdtDbtInd: direction.optional() })) }),
);
const details = element({
  Amt: money.optional(),
  AmtDtls: element({ TxAmt: element({ Amt: money }).optional() }).optional(),
  CdtDbtInd: direction.optional(),
  Refs: refs.optional(),
  BkTxCd: bankCode.optional(),
  Chrgs: charges,
  RmtInf: element({ Ustrd: z.union([z.string(), z.array(z.string())]).optional() }).optional(),
});
const entry = element({
  Amt: money,
  CdtDbtInd: direction,
  RvslInd: z.enum(['true', 'false', '1', '0']).optional(),
  Sts: z.union([z.string(), z.object({ Cd: z.string() })]).optional(),
  BookgDt: date.optional(),
  ValDt: date.optional(),
  AcctSvcrRef: z.string().optional(),
  BkTxCd: bankCode.optional(),
  Chrgs: charges,
  NtryDtls: list(element({ TxDtls: list(details) })),
});
const balance = element({
  Tp: element({
    CdOrPrtry: element({ Cd: z.string().optional() }),
    SubTp: element({ Cd: z.string().optional() }).optional(),
  }),
  Amt: money,
  CdtDbtInd: direction,
  Dt: date,
});
const account = element({
  Id: element({ IBAN: z.string().optional(), Othr: element({ Id: z.string() }).optional() }),
});
const statement = element({
  FrToDt: element({ FrDtTm: z.string().optional(), FrDt: z.string().optional() }).optional(),
  Acct: account.optional(),
  Bal: list(balance),
  Ntry: list(entry),
});
const camt053 = z.object({ Document: z.object({ BkToCstmrStmt: z.object({ Stmt: z.array(statement) }) }) });
type Entry = z.infer<typeof entry>;
type Details = z.infer<typeof details>;

/** What other messages are; a user may take them for a statement. */
const OTHER_MESSAGES: Record<string, string> = {
  BkToCstmrAcctRpt: 'it is a camt.052, a report within the day. Import the camt.053 of the day',
  BkToCstmrDbtCdtNtfctn: 'it is a camt.054, a notice of single entries. Import the camt.053 of the day',
};

/** Throws StatementFileError. */
export function parseCamt053(text: string): AccountStatement[] {
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
  const [message = ''] = Object.keys((document as { Document?: object }).Document ?? {}).filter(
    (name) => name in OTHER_MESSAGES,
  );
  if (message !== '') throw fault(text, document, ['Document', message], OTHER_MESSAGES[message] ?? '');
  const parsed = camt053.safeParse(document);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw fault(text, document, issue?.path ?? [], issue?.message ?? 'is no camt.053 message');
  }
  return parsed.data.Document.BkToCstmrStmt.Stmt.map((one, index) => {
    const path = ['Document', 'BkToCstmrStmt', 'Stmt', index];
    const entries = one.Ntry.flatMap((item, position) =>
      entriesOf(item, (problem) => fault(text, document, [...path, 'Ntry', position], problem)),
    );
    const { IBAN, Othr } = one.Acct?.Id ?? {};
    const number = (IBAN ?? Othr?.Id)?.replaceAll(/\s/g, '') ?? null;
    const problem = (name: string): StatementFileError => fault(text, document, path, `the ${name} has no valid date`);
    return { account: number, entries, from: startOf(one, problem), closing: closingOf(one, problem) };
  });
}

type Failure = (problem: string) => StatementFileError;

/** A time, or the start of a day in Nigeria; null if it is not valid. A time without a zone is one in Lagos. */
function timeOf({ DtTm, Dt }: z.infer<typeof date>, isEnd = false): Date | null {
  if (DtTm !== undefined) return readTime(DtTm, LAGOS_OFFSET_MS);
  const day = readDay(Dt ?? '');
  return day === null ? null : dayStart(isEnd ? dayAfter(day) : day);
}

function startOf({ FrToDt, Bal }: z.infer<typeof statement>, failure: Failure): Date | null {
  const opening = Bal.find(({ Tp }) => Tp.CdOrPrtry.Cd === 'OPBD')?.Dt;
  const from = FrToDt === undefined ? opening : { DtTm: FrToDt.FrDtTm, Dt: FrToDt.FrDt };
  if (from === undefined) return null;
  const time = timeOf(from);
  if (time === null) throw failure('start');
  return time;
}

/** The closing balance that is booked; one of a part of the day (INTM) only where there is no other. */
function closingOf({ Bal }: z.infer<typeof statement>, failure: Failure): AccountStatement['closing'] {
  const closings = Bal.filter(({ Tp }) => Tp.CdOrPrtry.Cd === 'CLBD').map((one) => {
    const at = timeOf(one.Dt, true);
    if (at === null) throw failure('closing balance');
    return { isPart: one.Tp.SubTp?.Cd === 'INTM', at, balance: one.CdtDbtInd === 'CRDT' ? one.Amt : -one.Amt };
  });
  const whole = closings.filter(({ isPart }) => !isPart);
  const [closing] = (whole.length > 0 ? whole : closings).toSorted(
    (one, other) => other.at.getTime() - one.at.getTime(),
  );
  return closing === undefined ? null : { balance: closing.balance, at: closing.at };
}

/** The entries of an `Ntry`: one, or one for each transaction of a batch booking. Pending ones have none. */
function entriesOf(one: Entry, failure: Failure): FileEntry[] {
  const status = typeof one.Sts === 'string' ? one.Sts : one.Sts?.Cd;
  if (status !== undefined && status !== 'BOOK') return [];
  const at = timeOf(one.BookgDt ?? one.ValDt ?? {});
  if (at === null) throw failure('the booking date is not valid');
  const parts = one.NtryDtls.flatMap(({ TxDtls }) => TxDtls);
  const entries = (parts.length === 0 ? [null] : parts).map((part) => entryOf(one, part, at));
  const sum = entries.reduce((total, part) => total + part.signed, 0);
  const charged = chargeOf(one.Chrgs) + entries.reduce((total, { entry: { charge } }) => total + charge, 0);
  const booked = one.CdtDbtInd === 'CRDT' ? one.Amt : -one.Amt;
  if (sum === booked) return entries.map((part) => ({ ...part.entry, charge: 0 }));
  const [first] = entries;
  if (sum - charged !== booked || first === undefined) {
    throw failure('the transactions of an entry and its charges do not add up to its amount');
  }
  first.entry.charge += chargeOf(one.Chrgs);
  return entries.map((part) => part.entry);
}

function entryOf(one: Entry, part: Details | null, at: Date): { entry: FileEntry; signed: Kobo } {
  const isCredit = (part?.CdtDbtInd ?? one.CdtDbtInd) === 'CRDT';
  const { EndToEndId = '', TxId, UETR, AcctSvcrRef } = part?.Refs ?? {};
  const ours = ourReferenceIn([EndToEndId, part?.RmtInf?.Ustrd].flat().join(' '));
  const bank = part?.BkTxCd ?? one.BkTxCd;
  const code = bank?.Domn?.Fmly.SubFmlyCd ?? bank?.Prtry?.Cd ?? '';
  const isReversal = one.RvslInd === 'true' || one.RvslInd === '1';
  const charge = chargeOf(part?.Chrgs ?? []);
  const beforeCharges = part?.AmtDtls?.TxAmt?.Amt;
  const amount = (charge === 0 ? part?.Amt : undefined) ?? beforeCharges ?? part?.Amt ?? one.Amt;
  const entry = {
    kind: kindOf({ isCredit, isReversal, isOurs: ours !== null, code }),
    word: code.toLowerCase(),
    reference: ours ?? TxId ?? UETR ?? AcctSvcrRef ?? one.AcctSvcrRef ?? null,
    amount,
    charge,
    at,
  };
  return { entry, signed: isCredit ? amount : -amount };
}

/** The charges of an entry or of a part of it, less those given back. */
const chargeOf = (blocks: z.infer<typeof charges>): Kobo =>
  blocks
    .flatMap(({ Amt, Rcrd }) => (Rcrd.length > 0 ? Rcrd : [{ Amt: Amt ?? 0, CdtDbtInd: undefined }]))
    .reduce((total, { Amt, CdtDbtInd }) => total + (CdtDbtInd === 'CRDT' ? -Amt : Amt), 0);

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
