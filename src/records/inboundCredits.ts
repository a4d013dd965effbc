// Money that a rail says arrived, as rows.
import type { Sql } from '../database.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Kobo } from '../money.ts';

export interface InboundCredit {
  id: Uuid;
  version: number;
  rail: string;
  sessionId: string;
  accountNumber: string;
  amount: Kobo;
  senderName: string | null;
  senderAccountNumber: string | null;
  senderBankCode: string | null;
  /** Whose account number it came to; null when nobody's. */
  ownerKind: 'payment' | 'wallet' | null;
  ownerId: Uuid | null;
  /**
   * `received`: known, not in the books yet. `posted`: where it belongs. `suspense`: waits for a person. `set_aside`: the rail
   * did not confirm it, so nothing is posted, and a review case of the reason `credit_unconfirmed` was opened.
   */
  status: 'received' | 'posted' | 'suspense' | 'set_aside';
  receivedAt: Date;
  createdAt: Date;
}

export async function findInboundCredit(sql: Sql, book: Book, id: Uuid): Promise<InboundCredit | null> {
  const [row] = await sql<InboundCredit[]>`
    SELECT id, version, rail, session_id, account_number, amount, sender_name, sender_account_number, sender_bank_code,
           owner_kind, owner_id, status, received_at, created_at
    FROM inbound_credits
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}`;
  return row ?? null;
}
