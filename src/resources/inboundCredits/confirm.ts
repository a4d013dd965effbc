// What a credit is by the rail's own record. A callback only says where to look: whose the money is, how much, who sent
// it and when are facts of the record, and what that does not report is not known.
import type { Sql } from '../../database/pool.ts';
import type { Book } from '../../money.ts';
import type { InboundCreditReport } from '../../rail/port.ts';
import { findAccountOfCredit } from '../wallets/virtualAccounts.ts';
import type { InboundCredit } from './queries.ts';

declare const confirmed: unique symbol;
/** A credit as the rail's record has it: no other can be posted. */
export type ConfirmedCredit = InboundCredit & { readonly [confirmed]: true };

/**
 * The stored credit with the facts of its record. Of the sender a record may mask a part: that was stored from a signed
 * callback, or is null. The number is that of the owner, if the record has our reference only.
 */
export async function confirmedBy(
  sql: Sql,
  book: Book,
  credit: InboundCredit,
  record: InboundCreditReport,
): Promise<ConfirmedCredit> {
  const facts: InboundCredit = {
    ...credit,
    ...(isAsStored(credit, record) ? {} : await ownerOf(sql, book, credit, record)),
    amount: record.amount,
    senderName: record.senderName ?? credit.senderName,
    senderAccountNumber: record.senderAccountNumber ?? credit.senderAccountNumber,
    senderBankCode: record.senderBankCode ?? credit.senderBankCode,
    senderSessionId: record.senderSessionId ?? credit.senderSessionId,
    receivedAt: record.receivedAt,
  };
  return facts as ConfirmedCredit;
}

/** Whether the owner was found by what the record has too. */
const isAsStored = (credit: InboundCredit, record: InboundCreditReport): boolean =>
  credit.accountReference === record.accountReference &&
  credit.accountNumber === record.accountNumber &&
  credit.receivedAt.getTime() === record.receivedAt.getTime();

async function ownerOf(sql: Sql, book: Book, { rail }: InboundCredit, record: InboundCreditReport) {
  const owner = await findAccountOfCredit(sql, book, rail, record);
  return {
    ownerKind: owner?.ownerKind ?? null,
    ownerId: owner?.ownerId ?? null,
    accountReference: record.accountReference,
    accountNumber: record.accountNumber ?? owner?.accountNumber ?? null,
  };
}
