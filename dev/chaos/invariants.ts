// Invariants of the money of one organisation when no flow is in progress: its ledger, its resources and the bank's
// records are read independently and compared.
import type { Sql } from '../../src/database/pool.ts';
import type { Uuid } from '../../src/ids.ts';
import type { Kobo } from '../../src/money.ts';

/** What a bank has in its own book: all credits, all transfers that it accepted, and the money of each. */
export interface BankBook {
  /** The name of its rail, as in account codes. */
  rail: string;
  credits: { sessionId: string; accountNumber: string; amount: Kobo; recalled: boolean }[];
  transfers: { reference: string; status: 'processing' | 'completed' | 'failed' | 'returned'; amount: Kobo }[];
  /** Without charges. */
  lines: { kind: 'sent' | 'returned'; reference: string; amount: Kobo }[];
  /** All that it holds for the organisation, after charges and what was paid in. */
  holds: Kobo;
}

/** Each query returns the rows that violate the invariant. `$1` is the organisation, `RAIL` the name of the rail. */
const VIOLATIONS: Record<string, string> = {
  'the balances of the book add up to zero': `
    SELECT sum(balance) FROM balances HAVING sum(balance) <> 0`,

  // Charges, interest and what the organisation paid in are posted from the statement, and are no credit or transfer.
  'the clearing balance equals the money at the bank: credits that stayed minus sent transfers plus returned transfers': `
    SELECT b.balance AS clearing, bank.holds
    FROM (SELECT coalesce(sum(balance), 0) AS balance FROM balances
          WHERE code IN ('clearing:RAIL', 'float:RAIL', 'settlement:RAIL', 'expense:rail', 'income:interest', 'own:funds')) b,
         (SELECT (SELECT coalesce(sum(amount), 0) FROM bank_credits WHERE NOT recalled)
               + (SELECT coalesce(sum(CASE kind WHEN 'sent' THEN -amount ELSE amount END), 0) FROM bank_lines) AS holds
         ) bank
    WHERE -b.balance <> bank.holds`,

  'all in-transit and reserve accounts are zero': `
    SELECT * FROM balances WHERE (code LIKE 'in_transit:%' OR code LIKE 'reserve:%') AND balance <> 0`,

  'no running balance of a wallet is negative': `
    SELECT a.code, l.* FROM legs l JOIN ledger.accounts a ON a.organisation_id = $1 AND a.id = l.account_id
    WHERE a.code LIKE 'wallet:%' AND l.balance_after < 0`,

  'the balance of each wallet equals the sum of its resources': `
    SELECT w.id, a.balance, coalesce(sum(m.amount), 0) AS by_resources
    FROM wallets w
    JOIN ledger.accounts a ON a.organisation_id = w.organisation_id AND a.code = w.account_code
    LEFT JOIN (
      SELECT owner_id AS wallet_id, amount FROM inbound_credits
      WHERE organisation_id = $1 AND owner_kind = 'wallet' AND status = 'posted'
      UNION ALL SELECT target_wallet_id, amount_credited FROM payments WHERE organisation_id = $1
      UNION ALL SELECT target_wallet_id, -amount FROM splits
      UNION ALL SELECT split_wallet_id, amount FROM splits
      UNION ALL SELECT payer_wallet_id, -amount_received FROM payments WHERE organisation_id = $1
      UNION ALL SELECT p.target_wallet_id, -r.amount FROM refunds r JOIN payments p
                  ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
                WHERE r.organisation_id = $1 AND r.status <> 'failed' AND r.sources = '[]'
      UNION ALL SELECT s."walletId", -s.amount FROM refunds, jsonb_to_recordset(sources) AS s("walletId" uuid, amount bigint)
                WHERE organisation_id = $1 AND status <> 'failed'
      UNION ALL SELECT p.payer_wallet_id, r.amount FROM refunds r JOIN payments p
                  ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
                WHERE r.organisation_id = $1 AND r.destination = 'wallet'
      UNION ALL SELECT source_wallet_id, -amount - fee FROM transfers WHERE organisation_id = $1
      UNION ALL SELECT destination_wallet_id, amount FROM transfers WHERE organisation_id = $1 AND hold_id IS NULL
      UNION ALL SELECT wallet_id, amount_released FROM holds WHERE organisation_id = $1
      UNION ALL SELECT wallet_id, amount_cancelled - amount FROM holds WHERE organisation_id = $1 AND payment_id IS NOT NULL
      UNION ALL SELECT h.source_wallet_id, h.amount_cancelled FROM holds h
                WHERE h.organisation_id = $1 AND h.transfer_id IS NOT NULL AND NOT EXISTS (
                  SELECT FROM ledger.transactions t JOIN ledger.postings p
                    ON p.organisation_id = t.organisation_id AND p.transaction_id = t.id
                  JOIN ledger.accounts c ON c.organisation_id = p.organisation_id AND c.id = p.credit_account_id
                  WHERE t.organisation_id = h.organisation_id AND t.resource = ledger.public_id(h.id, 'hld')
                    AND t.kind = 'hold_cancellation' AND c.code = 'suspense:unmatched')
      UNION ALL SELECT source_wallet_id, -amount - fee FROM withdrawals
                WHERE organisation_id = $1 AND status NOT IN ('failed', 'returned')
      UNION ALL SELECT p.source_wallet_id, -i.amount - i.fee FROM payout_items i JOIN payouts p
                  ON p.organisation_id = i.organisation_id AND p.id = i.payout_id
                WHERE i.organisation_id = $1 AND i.status <> 'failed'
      UNION ALL SELECT wallet_id, amount FROM credited_cases WHERE NOT is_of_payment
      UNION ALL SELECT wallet_id, amount FROM fee_sweeps WHERE organisation_id = $1
      UNION ALL SELECT w.id, -i.recalled_taken - i.recalled_held FROM inbound_credits i JOIN wallets w
                  ON w.organisation_id = i.organisation_id AND w.account_code = i.recalled_from
                WHERE i.organisation_id = $1 AND i.recall = 'posted'
      UNION ALL SELECT w.id, -d.amount FROM debt_recoveries d JOIN wallets w
                  ON w.organisation_id = d.organisation_id AND w.account_code = d.account_code
                WHERE d.organisation_id = $1
    ) m ON m.wallet_id = w.id
    WHERE w.organisation_id = $1 GROUP BY w.id, a.balance HAVING a.balance <> coalesce(sum(m.amount), 0)`,

  'what is held for each wallet is the sum of its open holds': `
    SELECT coalesce(b.code, h.code), b.balance, h.sum
    FROM (SELECT * FROM balances WHERE code LIKE 'held:%' AND balance <> 0) b
    FULL JOIN (SELECT 'held:wallet:' || ledger.public_id(wallet_id, 'wlt') AS code,
                      sum(amount - amount_released - amount_cancelled) AS sum
               FROM holds WHERE organisation_id = $1 AND status = 'held' GROUP BY 1) h ON h.code = b.code
    WHERE b.balance IS DISTINCT FROM h.sum`,

  'what each split is credited was posted for its payment, to its wallet or beside it': `
    SELECT s.payment_id, s.split_wallet_id, s.amount, coalesce(sum(c.amount), 0) AS posted
    FROM splits s LEFT JOIN (
      SELECT coalesce(k.payment_id, p.id) AS payment_id, a.code, l.amount
      FROM ledger.transactions t
      JOIN ledger.postings l ON l.organisation_id = t.organisation_id AND l.transaction_id = t.id
      JOIN ledger.accounts a ON a.organisation_id = l.organisation_id AND a.id = l.credit_account_id
      LEFT JOIN payments p ON p.organisation_id = $1 AND ledger.public_id(p.id, 'pay') = t.resource
      LEFT JOIN credited_cases k ON k.is_of_payment AND ledger.public_id(k.id, 'rev') || '/credit' = t.key
      WHERE t.organisation_id = $1
    ) c ON c.payment_id = s.payment_id
       AND substring(c.code FROM '^(?:held:)?wallet:(.*)$') = ledger.public_id(s.split_wallet_id, 'wlt')
    GROUP BY s.payment_id, s.split_wallet_id, s.amount HAVING s.amount <> coalesce(sum(c.amount), 0)`,

  // What has come back does not count.
  'no wallet sent more in a day or month than its limits': `
    SELECT a.code, to_jsonb(a.period_maxima) AS maxima, v.unit, sum(s.amount), count(*),
           date_trunc(v.unit, t.created_at, 'Africa/Lagos') AS began
    FROM (
      SELECT x.source_wallet_id AS wallet_id, ledger.public_id(x.id, 'trf') AS resource,
             x.amount + x.fee - coalesce(h.amount_cancelled, 0) AS amount
      FROM transfers x LEFT JOIN holds h ON h.organisation_id = x.organisation_id AND h.id = x.hold_id
      WHERE x.organisation_id = $1
      UNION ALL SELECT payer_wallet_id, ledger.public_id(id, 'pay'), amount_received FROM payments WHERE organisation_id = $1
      UNION ALL SELECT source_wallet_id, ledger.public_id(id, 'wth'), amount + fee FROM withdrawals
                WHERE organisation_id = $1 AND status NOT IN ('failed', 'returned')
      UNION ALL SELECT p.source_wallet_id, ledger.public_id(p.id, 'pyo'), sum(i.amount + i.fee) FROM payouts p
                JOIN payout_items i ON i.organisation_id = p.organisation_id AND i.payout_id = p.id AND i.status <> 'failed'
                WHERE p.organisation_id = $1 GROUP BY p.source_wallet_id, p.id
    ) s
    JOIN wallets w ON w.organisation_id = $1 AND w.id = s.wallet_id
    JOIN ledger.accounts a ON a.organisation_id = $1 AND a.code = w.account_code AND a.period_maxima IS NOT NULL
    JOIN (SELECT resource, min(created_at) AS created_at FROM ledger.transactions WHERE organisation_id = $1
          GROUP BY resource) t ON t.resource = s.resource
    CROSS JOIN (VALUES (1, 'day'), (3, 'month')) AS v (place, unit)
    WHERE s.amount > 0 GROUP BY a.code, a.period_maxima, v.unit, v.place, began
    HAVING sum(s.amount) > a.period_maxima[v.place] OR count(*) > a.period_maxima[v.place + 1]`,

  'income equals the fees of completed resources': `
    SELECT income.balance, fees.sum
    FROM (SELECT coalesce((SELECT balance FROM balances WHERE code = 'income:fees'), 0) AS balance) income,
         (SELECT coalesce(sum(fee), 0) AS sum FROM (
            SELECT CASE method WHEN 'virtual_wallet' THEN amount_received - amount_credited ELSE fee_charged END AS fee
            FROM payments WHERE organisation_id = $1
            UNION ALL SELECT fee FROM transfers WHERE organisation_id = $1
            UNION ALL SELECT fee FROM withdrawals WHERE organisation_id = $1 AND status = 'completed'
            UNION ALL SELECT fee FROM payout_items WHERE organisation_id = $1 AND status = 'completed') f) fees
    WHERE income.balance <> fees.sum`,

  'the balance of each suspense account equals the sum of its open review cases, or what its open payment received': `
    SELECT coalesce(b.code, c.account_code), b.balance, c.sum
    FROM (SELECT * FROM balances WHERE code LIKE 'suspense:%' AND balance <> 0) b
    FULL JOIN (SELECT account_code, sum(amount) AS sum FROM (
                 SELECT account_code, amount FROM review_cases
                 WHERE organisation_id = $1 AND status = 'open' AND account_code IS NOT NULL
                 UNION ALL SELECT 'suspense:payment:' || ledger.public_id(id, 'pay'), amount_received FROM payments
                 WHERE organisation_id = $1 AND status = 'partial'
               ) held GROUP BY account_code) c ON c.account_code = b.code
    WHERE b.balance IS DISTINCT FROM c.sum`,

  'each credit at the bank has one inbound credit, posted once': `
    SELECT c.session_id, c.recalled, count(DISTINCT i.id) AS credits, count(DISTINCT t.id) AS transactions,
           max(i.recall) AS recall
    FROM bank_credits c
    LEFT JOIN inbound_credits i ON i.organisation_id = $1 AND i.session_id = c.session_id
      AND i.amount = c.amount AND (i.account_number = c.account_number
           OR i.account_number IS NULL AND (i.owner_id IS NULL OR 'RAIL' = 'monnify')) -- whose record does not report it
    LEFT JOIN ledger.transactions t ON t.organisation_id = $1 AND t.key = 'credit/RAIL/' || c.session_id
    GROUP BY c.session_id, c.recalled
    HAVING count(DISTINCT i.id) <> 1 OR count(DISTINCT t.id) <> CASE max(i.status) WHEN 'recalled' THEN 0 ELSE 1 END
        OR max(i.recall) IS DISTINCT FROM CASE WHEN c.recalled THEN 'posted' END`,

  'a credit that was set aside has no posting, and its review case no account': `
    SELECT i.session_id, t.key, c.account_code FROM inbound_credits i
    LEFT JOIN ledger.transactions t ON t.organisation_id = i.organisation_id AND t.key = 'credit/' || i.rail || '/' || i.session_id
    LEFT JOIN review_cases c ON c.organisation_id = i.organisation_id AND c.inbound_credit_id = i.id AND c.reason = 'credit_unconfirmed'
    WHERE i.organisation_id = $1 AND i.status = 'set_aside'
      AND (t.id IS NOT NULL OR c.id IS NULL OR c.account_code IS NOT NULL)`,

  'each inbound credit exists at the bank': `
    SELECT i.session_id FROM inbound_credits i
    WHERE i.organisation_id = $1 AND i.status <> 'set_aside' AND NOT EXISTS (
      SELECT FROM bank_credits c WHERE c.session_id = i.session_id)`,

  // What was taken back before the wallet had it was not received.
  'the amount received of a payment equals its posted credits that stayed, and what review cases credited': `
    SELECT p.id, p.status, p.amount_received, posted.sum AS posted, reviewed.sum AS reviewed
    FROM payments p
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount), 0) AS sum FROM inbound_credits i
      WHERE i.organisation_id = $1 AND i.owner_id = p.id AND i.status = 'posted'
        AND NOT (i.recall IS NOT DISTINCT FROM 'posted' AND i.recalled_from ~ '^(suspense|unclaimed):')
    ) posted
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount), 0) AS sum FROM credited_cases c
      WHERE c.payment_id = p.id AND c.is_of_payment AND c.reason NOT IN ('partial_expired', 'surplus_over_limit', 'split_refused')
    ) reviewed
    WHERE p.organisation_id = $1 AND p.method = 'bank_transfer' AND p.amount_received <> posted.sum + reviewed.sum`,

  'the refunded amount of a payment equals its refunds and does not exceed its credited amount': `
    SELECT p.id, p.status, p.amount_credited, p.amount_refunded, p.amount_refunding, coalesce(sum(r.amount), 0) AS refunds
    FROM payments p LEFT JOIN refunds r
      ON r.organisation_id = p.organisation_id AND r.payment_id = p.id AND r.status = 'completed'
    WHERE p.organisation_id = $1 GROUP BY p.organisation_id, p.id
    HAVING p.amount_refunded <> coalesce(sum(r.amount), 0) OR p.amount_refunding <> 0
        OR p.amount_refunded > p.amount_credited`,

  'the bank made at most one transfer per reference, and only for references of this organisation': `
    SELECT t.reference, t.status, o.reference AS own_reference,
           count(*) FILTER (WHERE l.kind = 'sent') AS paid, count(*) FILTER (WHERE l.kind = 'returned') AS returned
    FROM bank_transfers t
    LEFT JOIN outgoing o USING (reference)
    LEFT JOIN bank_lines l ON l.reference = t.reference
    GROUP BY t.reference, t.status, t.amount, o.reference, o.amount
    HAVING o.reference IS NULL OR o.amount <> t.amount
        OR count(*) FILTER (WHERE l.kind = 'sent') > 1 OR count(*) FILTER (WHERE l.kind = 'returned') > 1`,

  'the status of each transfer equals its status at the bank': `
    SELECT o.*, t.status AS bank_status
    FROM outgoing o LEFT JOIN bank_transfers t ON t.reference = o.reference
    WHERE o.own_status <> CASE coalesce(t.status, 'failed')
                        WHEN 'returned' THEN CASE o.kind WHEN 'withdrawal' THEN 'returned' ELSE 'failed' END
                        ELSE coalesce(t.status, 'failed') END`,

  'each final status has one event': `
    SELECT r.*, reported.types
    FROM (
      SELECT reference AS resource, CASE
               WHEN kind = 'withdrawal' AND completed AND own_status = 'returned' THEN 'withdrawal.completed, withdrawal.returned'
               WHEN kind = 'withdrawal' THEN 'withdrawal.' || own_status
               WHEN completed AND own_status = 'failed' THEN 'refund.completed, refund.failed'
               ELSE 'refund.' || own_status END AS expected
      FROM outgoing WHERE kind IN ('withdrawal', 'refund')
      UNION ALL
      SELECT ledger.public_id(id, 'rfd'), 'refund.completed' FROM refunds WHERE organisation_id = $1 AND destination = 'wallet'
      UNION ALL
      SELECT o.reference, concat_ws(', ', CASE WHEN o.completed THEN 'payout.item_completed' END,
               CASE WHEN i.status = 'failed' THEN 'payout.item_' || CASE WHEN i.returned_at IS NULL THEN 'failed' ELSE 'returned' END END)
      FROM outgoing o JOIN payout_items i ON i.organisation_id = $1 AND ledger.public_id(i.id, 'poi') = o.reference
      UNION ALL
      SELECT ledger.public_id(id, 'trf'), 'transfer.completed' FROM transfers WHERE organisation_id = $1
    ) r
    LEFT JOIN (
      SELECT resource, string_agg(type, ', ' ORDER BY type) AS types FROM events
      WHERE organisation_id = $1 GROUP BY resource
    ) reported ON reported.resource = r.resource
    WHERE reported.types IS DISTINCT FROM r.expected`,

  'the events of each resource are numbered from 1': `
    SELECT resource, count(*), max(sequence) FROM events WHERE organisation_id = $1
    GROUP BY resource HAVING count(*) <> max(sequence)`,

  'each payment ends once, and each credit to it has one event': `
    SELECT p.id, p.status, p.settled_at, reported.*, posted.count
    FROM payments p
    LEFT JOIN (
      SELECT resource, count(*) FILTER (WHERE type = 'payment.expired') AS expired,
             count(*) FILTER (WHERE type = 'payment.cancelled') AS cancelled,
             count(*) FILTER (WHERE type = 'payment.completed') AS completed,
             count(*) FILTER (WHERE type = 'payment.settled') AS credits
      FROM events WHERE organisation_id = $1 GROUP BY resource
    ) reported ON reported.resource = ledger.public_id(p.id, 'pay')
    LEFT JOIN (
      SELECT owner_id, count(*) FROM inbound_credits WHERE organisation_id = $1 AND status = 'posted' GROUP BY owner_id
    ) posted ON posted.owner_id = p.id
    LEFT JOIN (
      SELECT payment_id, resolved_at, count(*) FROM credited_cases WHERE is_of_payment GROUP BY payment_id, resolved_at
    ) settled_by ON settled_by.payment_id = p.id AND settled_by.resolved_at = p.settled_at
    WHERE p.organisation_id = $1 AND (
      coalesce(reported.completed, 0) <> (p.settled_at IS NOT NULL)::int
      OR coalesce(reported.expired, 0) <> (p.status = 'expired')::int
      OR coalesce(reported.cancelled, 0) <> (p.status = 'cancelled')::int
      OR coalesce(reported.credits, 0)
         <> CASE p.method WHEN 'bank_transfer' THEN coalesce(posted.count, 0) + coalesce(settled_by.count, 0)
                          ELSE (p.settled_at IS NOT NULL)::int END)`,

  'each deposit has one event': `
    SELECT d.credits, reported.events
    FROM (SELECT count(*) AS credits FROM inbound_credits
          WHERE organisation_id = $1 AND owner_kind = 'wallet' AND status = 'posted') d,
         (SELECT count(DISTINCT data ->> 'inboundCreditId') AS events, count(data ->> 'inboundCreditId') AS all_events
          FROM events WHERE organisation_id = $1 AND type = 'wallet.credited' AND data ->> 'paymentId' IS NULL) reported
    WHERE d.credits <> reported.events OR reported.events <> reported.all_events`,

  'the status of each payout matches the statuses of its items': `
    SELECT p.id, p.status, items.*
    FROM payouts p CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE i.status = 'completed') AS completed, count(*) FILTER (WHERE i.status = 'failed') AS failed
      FROM payout_items i WHERE i.organisation_id = $1 AND i.payout_id = p.id
    ) items
    WHERE p.organisation_id = $1
      AND p.status <> CASE WHEN items.failed = 0 THEN 'completed' WHEN items.completed = 0 THEN 'failed' ELSE 'partially_completed' END`,
};

/**
 * All outgoing transfers: the reference of each at the bank, and our status of it. `$1` is the organisation. A return
 * can be completed once for each version of its case.
 */
export const OUTGOING = `
    SELECT o.*, EXISTS (SELECT FROM ledger.transactions
                        WHERE organisation_id = $1 AND key = ANY (ARRAY[o.reference || '/completion'] || ARRAY(
                          SELECT o.reference || '/completion/' || version FROM generate_series(1, 30) AS version))) AS completed
    FROM (
      SELECT 'withdrawal' AS kind, ledger.public_id(id, 'wth') AS reference, amount, status AS own_status FROM withdrawals
      WHERE organisation_id = $1
      UNION ALL
      SELECT 'refund', ledger.public_id(id, 'rfd'), amount, status FROM refunds WHERE organisation_id = $1 AND destination = 'bank'
      UNION ALL
      SELECT 'payout item', ledger.public_id(id, 'poi'), amount, status FROM payout_items WHERE organisation_id = $1
      UNION ALL
      SELECT 'review case', ledger.public_id(id, 'rev') || CASE attempt WHEN 1 THEN '' ELSE '_' || attempt END, amount,
             CASE WHEN attempt < attempts THEN 'failed' WHEN status = 'returned_to_sender' THEN 'completed'
                  WHEN status = 'returning' THEN 'processing' ELSE 'failed' END
      FROM review_cases, generate_series(1, attempts) AS attempt WHERE organisation_id = $1
    ) o`;

/** The book of the sandbox bank, which is in the database. */
const SANDBOX = `
  bank_credits AS (SELECT session_id, account_number, amount, recalled_at IS NOT NULL AS recalled
                   FROM sandbox_bank.credits WHERE organisation_id = $1),
  bank_transfers AS (SELECT reference, status, amount FROM sandbox_bank.transfers WHERE organisation_id = $1),
  bank_lines AS (SELECT kind, reference, amount FROM sandbox_bank.statement_lines
                 WHERE organisation_id = $1 AND kind IN ('sent', 'returned'))`;

/** The book of another bank, which is given: `$2`, as JSON. */
const GIVEN = `
  given AS (SELECT ($2::text)::jsonb AS book),
  bank_credits AS (SELECT "sessionId" AS session_id, "accountNumber" AS account_number, amount, recalled FROM given,
    jsonb_to_recordset(book -> 'credits')
      AS credit("sessionId" text, "accountNumber" text, amount bigint, recalled boolean)),
  bank_transfers AS (SELECT transfer.* FROM given,
    jsonb_to_recordset(book -> 'transfers') AS transfer(reference text, status text, amount bigint)),
  bank_lines AS (SELECT line.* FROM given,
    jsonb_to_recordset(book -> 'lines') AS line(kind text, reference text, amount bigint))`;

/** Common table expressions of the queries: postings by account, balances, transfers, credited cases, and splits. */
const COMMON = `
  WITH legs AS (
    SELECT debit_account_id AS account_id, -amount AS amount, debit_balance_after AS balance_after
    FROM ledger.postings WHERE organisation_id = $1
    UNION ALL SELECT credit_account_id, amount, credit_balance_after FROM ledger.postings WHERE organisation_id = $1
  ), balances AS MATERIALIZED (
    SELECT a.code, l.balance
    FROM (SELECT account_id, sum(amount)::bigint AS balance FROM legs GROUP BY account_id) l
    JOIN ledger.accounts a ON a.organisation_id = $1 AND a.id = l.account_id
  ), outgoing AS MATERIALIZED (${OUTGOING}), credited_cases AS (
    SELECT c.id, c.wallet_id, c.payment_id, c.amount, c.reason, c.resolved_at,
           p.id IS NOT NULL AND (c.inbound_credit_id IS NOT NULL OR c.reason IN ('partial_expired', 'split_refused'))
             AS is_of_payment
    FROM review_cases c LEFT JOIN payments p
      ON p.organisation_id = c.organisation_id AND p.id = c.payment_id
        AND (p.target_wallet_id = c.wallet_id OR c.reason = 'split_refused'
             AND p.splits @> jsonb_build_array(jsonb_build_object('walletId', c.wallet_id)))
    WHERE c.organisation_id = $1 AND c.status = 'credited'
  ), splits AS (
    SELECT p.id AS payment_id, p.target_wallet_id, s."walletId" AS split_wallet_id, s."amountCredited" AS amount
    FROM payments p, jsonb_to_recordset(p.splits) AS s("walletId" uuid, "amountCredited" bigint) WHERE p.organisation_id = $1
  )`;

/** Returns the violated invariants, each with some rows. `book`: that of the bank, if it is not the sandbox bank. */
export async function violations(sql: Sql, organisationId: Uuid, book?: BankBook): Promise<string[]> {
  const violated: string[] = [];
  const parameters = book === undefined ? [organisationId] : [organisationId, JSON.stringify(book)];
  for (const [rule, query] of Object.entries(VIOLATIONS)) {
    const text = `${COMMON}, ${book === undefined ? SANDBOX : GIVEN} ${query}`;
    const rows = await sql.unsafe(text.replaceAll('RAIL', book?.rail ?? 'sandbox'), parameters);
    if (rows.length > 0) violated.push(`${rule}: ${JSON.stringify(rows.slice(0, ROWS_SHOWN))}`);
  }
  return violated;
}

/** Rows per violation. */
const ROWS_SHOWN = 3;
