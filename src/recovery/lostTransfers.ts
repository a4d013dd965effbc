// Imports what a bank has paid for transfers that the database lost in a restore: for each statement line whose flow
// exists, an adjustment is requested, which another operator approves.
import type { Sql } from '../database/pool.ts';
import { parseId, publicId } from '../ids.ts';
import { type AccountCode, BANK_RECEIVABLE, walletAccount } from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book, Kobo } from '../money.ts';
import { type Grounds, requestAdjustment } from '../resources/adjustments/request.ts';
import { payoutAccount } from '../resources/rails/accounts.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import type { LostFlow } from './lostFlows.ts';

/** A statement line of a transfer that the bank has paid and the books do not have. */
export interface PaidLine {
  reference: string;
  rail: string;
  amount: Kobo;
  at: Date;
}

/** What the last reconciliation found of the transfers of these flows, by reference. */
export async function findPaidLines(sql: Sql, lost: readonly LostFlow[]): Promise<Map<string, PaidLine>> {
  const rows = await sql<PaidLine[]>`
    SELECT b.reference, b.rail, b.statement_amount AS amount, b.at FROM reconciliation_breaks b
    JOIN unnest(${lost.map(({ organisationId }) => organisationId)}::uuid[],
                ${lost.map(({ environment }) => environment)}::text[],
                ${lost.map(({ id }) => id)}::text[]) AS lost (organisation_id, environment, reference)
      USING (organisation_id, environment, reference)
    WHERE b.kind = 'unmatched_statement' AND b.line = 'sent' AND b.cleared_at IS NULL`;
  return new Map(rows.map((row) => [row.reference, row]));
}

export interface ImportedTransfer {
  /** Public id. */
  adjustment: string;
  reference: string;
  debit: AccountCode;
  amount: Kobo;
  /** Why it was not requested; null: it was. */
  refused: string | null;
}

/** Requests the adjustment of each lost transfer that a bank has paid. Safe to repeat: a transfer is requested once. */
export async function importPaidTransfers(
  context: { sql: Sql; journal: Journal },
  lost: readonly LostFlow[],
  grounds: Grounds,
): Promise<ImportedTransfer[]> {
  const paid = await findPaidLines(context.sql, lost);
  const left = new Map<string, Kobo>();
  const imported: ImportedTransfer[] = [];
  for (const { kind, id: reference, resourceId, organisationId, environment, walletId } of lost) {
    const line = paid.get(reference);
    if (line === undefined) continue;
    const { amount, rail } = line;
    const book = { organisationId, environment };
    const debit = await debitedAccount(context.sql, book, kind === 'reviewCase' ? null : walletId, amount, left);
    // Its id is that of the transfer, so that no second one is requested for it.
    const request = { ...grounds, evidence: `${grounds.evidence} (${reference})`, id: resourceId };
    const postings = [{ debit, credit: payoutAccount(rail), amount }];
    const outcome = await requestAdjustment(context, book, postings, request);
    const refused = outcome.outcome === 'refused' ? outcome.message : null;
    imported.push({ adjustment: publicId('adjustment', resourceId), reference, debit, amount, refused });
  }
  return imported;
}

/**
 * The wallet that the transfer was sent from, if it has the money, which the restore gave back to it. Otherwise, and of
 * a case, it is owed, until operators claim it or book it as a loss. `left`: what earlier requests leave in a wallet.
 */
async function debitedAccount(
  sql: Sql,
  book: Book,
  walletId: string | null,
  amount: Kobo,
  left: Map<string, Kobo>,
): Promise<AccountCode> {
  const id = walletId === null ? null : parseId('wallet', walletId);
  if (id === null) return BANK_RECEIVABLE;
  const wallet = left.has(id) ? null : await findWallet(sql, book, id);
  const balance = left.get(id) ?? (wallet?.status === 'closed' ? 0 : (wallet?.balance ?? 0));
  const isEnough = balance >= amount;
  left.set(id, isEnough ? balance - amount : balance);
  return isEnough ? walletAccount(id) : BANK_RECEIVABLE;
}
