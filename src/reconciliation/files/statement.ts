// What every format of statement file has in common: which account it is of, the kinds of its entries, and what tells
// two entries apart. A file is read completely or not at all: the first wrong value is reported with its place.
import { createHash } from 'node:crypto';
import type { AccountCode } from '../../ledger/chart.ts';
import type { Kobo } from '../../money.ts';
import { chargeReference } from '../../resources/rails/accounts.ts';
import { dayOf } from '../../times.ts';
import { type BankLine, isOwnLine, signedAmount } from '../lines.ts';

/**
 * The accounts that a deployment books a bank's own lines to, by the bank's word for them, such as `vat`. A line that
 * came in credits its account, any other debits it.
 */
export type LineAccounts = Readonly<Record<string, AccountCode>>;

export const accountOf = (booked: LineAccounts, word: string): AccountCode | undefined =>
  Object.hasOwn(booked, word) ? booked[word] : undefined;

/** A statement as reconciliation compares it. */
export interface StatementFile {
  lines: BankLine[];
  /** The start of the statement; null: the file does not say. */
  from: Date | null;
  /** The balance of the file, after all lines before a moment; null if it has none. */
  closing: { balance: Kobo; at: Date } | null;
}

/** An entry as a file has it. */
export interface FileEntry {
  kind: BankLine['kind'];
  /** Our reference of a transfer, or the bank's of anything else; null: the file has none. */
  reference: string | null;
  amount: Kobo;
  /** The bank's word for what the entry is, in lower case: the kind of a row of CSV, or a code. */
  word?: string;
  /** What the bank took for this entry beside its amount. */
  charge: Kobo;
  at: Date;
}

/** One of the statements of a file. A bank may split a long one, and put several accounts into one file. */
export interface AccountStatement extends Pick<StatementFile, 'from' | 'closing'> {
  /** As the file writes it, without spaces; null: the file does not say. */
  account: string | null;
  entries: FileEntry[];
}

/** A wrong value in a file. Lines and columns count from 1; the column of CSV is the field, of XML the character. */
export class StatementFileError extends Error {
  override readonly name = 'StatementFileError';

  constructor(line: number, column: number, problem: string) {
    super(`line ${line}, column ${column}: ${problem}`);
  }
}

/** Of several statements the one of an account: `account`, or the only one that the file has. */
export function statementOf(
  statements: readonly AccountStatement[],
  account: string | null,
  booked: LineAccounts,
): StatementFile {
  const accounts = [...new Set(statements.map((one) => one.account))];
  const others = accounts.filter((one) => one !== account);
  if (account === null ? accounts.length > 1 : !accounts.includes(account)) {
    const names = (account === null ? accounts : others).map((one) => one ?? 'without a number').join(', ');
    throw new StatementFileError(1, 1, `it has statements of these accounts: ${names}. Choose one with --account`);
  }
  const ofAccount = statements.filter((one) => account === null || one.account === account);
  const starts = ofAccount.flatMap(({ from }) => from ?? []);
  const closings = ofAccount.flatMap(({ closing }) => closing ?? []);
  return {
    lines: identified(
      ofAccount.flatMap(({ entries }) => entries),
      booked,
    ),
    from: starts.length === 0 ? null : starts.reduce((one, other) => (other < one ? other : one)),
    closing: closings.length === 0 ? null : closings.reduce((one, other) => (other.at >= one.at ? other : one)),
  };
}

/** Words of banks for "no reference". */
const NO_REFERENCE = new Set(['', 'NONREF', 'NOREF', 'NOTPROVIDED']);
const REFERENCE_MAX = 60;

/**
 * The lines of entries. A transfer and a credit are known by their reference. What a bank does by itself, and what has
 * no reference, is known by its day, its amount and its order among the equal ones of the day: the bank's word for it
 * may be the same each month. So the same entry has the same reference in each file that has the day.
 */
function identified(entries: readonly FileEntry[], booked: LineAccounts): BankLine[] {
  const times = new Map<string, number>();
  return entries
    .flatMap(({ charge, reference, word = '', ...entry }): BankLine[] => {
      const known = shortened(reference !== null && !NO_REFERENCE.has(reference) ? reference : 'NONREF');
      const isUnknownDebit = entry.kind === 'sent' && word !== 'sent' && ourReferenceIn(known) === null;
      const account = isUnknownDebit || OF_THE_BANK.has(entry.kind) ? accountOf(booked, word) : undefined;
      const line: BankLine = { ...entry, reference: known };
      if (account !== undefined) {
        line.kind = signedAmount(entry) > 0 ? 'charge_returned' : 'charge';
        line.account = account;
      }
      if (isOwnLine(line) || known === 'NONREF') {
        const equal = `${dayOf(line.at)}/${line.reference}/${line.amount}`;
        const time = (times.get(`${line.kind}/${equal}`) ?? 0) + 1;
        times.set(`${line.kind}/${equal}`, time);
        line.reference = `${equal}/${time}`;
      }
      const kind = charge > 0 ? 'charge' : 'charge_returned';
      return [line, { kind, reference: chargeReference(line), amount: Math.abs(charge), at: line.at }];
    })
    .filter(({ amount }) => amount > 0); // banks list entries of 0.00 too
}

/** What has an account of the deployment, beside debits by codes that are not known here: no credit, no transfer. */
const OF_THE_BANK: ReadonlySet<BankLine['kind']> = new Set(['charge', 'interest', 'other_in', 'other_out']);

/** A long reference, cut, with its hash. */
function shortened(reference: string): string {
  if (reference.length <= REFERENCE_MAX) return reference;
  return `${reference.slice(0, REFERENCE_MAX - 17)}~${createHash('sha256').update(reference).digest('hex').slice(0, 16)}`;
}

/** A reference of ours: the public id of a transfer, with a number for a repeated return to a sender. */
const OUR_REFERENCE = /svc_[0-9a-z]{26}_[a-z]{3}(_[1-9]\d{0,4})?/;

/** The reference of ours in what a bank passes on; null: there is none. */
export const ourReferenceIn = (text: string): string | null => OUR_REFERENCE.exec(text)?.[0] ?? null;

/** The codes of ISO 20022 and of SWIFT for what a bank does by itself. */
const CHARGES = new Set(['CHRG', 'CHG', 'COMM', 'COM', 'FEES', 'TAXE', 'TAX', 'VAT']);
const INTEREST = new Set(['INTR', 'INT']);
const SWEEP = 'SWEP';

/** `isReversal`: the entry takes an earlier one back. `isOurs`: it has a reference of ours. */
interface EntryFacts {
  isCredit: boolean;
  isReversal: boolean;
  isOurs: boolean;
  code: string;
}

export function kindOf({ isCredit, isReversal, isOurs, code }: EntryFacts): BankLine['kind'] {
  const isOwn = CHARGES.has(code) || INTEREST.has(code) || code === SWEEP;
  if (isOwn && isReversal) return isCredit ? 'other_in' : 'other_out';
  if (isCredit) {
    if (isOurs || isReversal) return 'returned';
    if (INTEREST.has(code)) return 'interest';
    return CHARGES.has(code) ? 'other_in' : 'credit';
  }
  if (isReversal) return 'recalled';
  if (isOurs) return 'sent';
  if (code === SWEEP) return 'settlement';
  return isOwn ? 'charge' : 'sent';
}

/** Naira with decimals as kobo, without the errors of binary fractions; null: it is no amount in whole kobo. */
export function koboOf(text: string): Kobo | null {
  const [, naira = '', decimals = '', rest = ''] = /^0*(\d{0,13})(?:[.,](\d{0,2})(\d*))?$/.exec(text) ?? [];
  if (!/^\d/.test(text) || /[1-9]/.test(rest)) return null;
  return Number(naira + decimals.padEnd(2, '0'));
}
