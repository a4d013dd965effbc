// Statements from files, for banks without an API: the bytes of a file as text, and the format that it is in.
import { parseCamt053 } from './camt053.ts';
import { parseCsvStatement } from './csv.ts';
import { isMt940, parseMt940 } from './mt940.ts';
import { type LineAccounts, type StatementFile, statementOf } from './statement.ts';

export const FORMATS = ['csv', 'camt.053', 'mt940'] as const;
export type StatementFormat = (typeof FORMATS)[number];

/** `format`: null finds it by the content. `account`: null where the file has one. Throws StatementFileError. */
export function readStatementFile(
  bytes: Buffer,
  { format, account, booked }: { format: StatementFormat | null; account: string | null; booked: LineAccounts },
): StatementFile {
  const text = textOf(bytes);
  switch (format ?? formatOf(text)) {
    case 'csv':
      return statementOf([parseCsvStatement(text, booked)], null, booked);
    case 'camt.053':
      return statementOf(parseCamt053(text), account, booked);
    case 'mt940':
      return statementOf(parseMt940(text), account, booked);
  }
}

function formatOf(text: string): StatementFormat {
  if (/^\s*</.test(text)) return 'camt.053';
  return isMt940(text) ? 'mt940' : 'csv';
}

/** The text of a file in UTF-16 with its mark, in the encoding that its XML names, in UTF-8 or else in Latin-1. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  const named = /^\s*<\?xml[^>]*encoding=["']([\w-]+)["']/.exec(bytes.subarray(0, 200).toString('latin1'))?.[1];
  try {
    return new TextDecoder(named ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}
