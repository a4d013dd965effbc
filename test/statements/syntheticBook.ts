// A book of any size, in a few statements: rows as they are in numbers and order, with the rare values among the oldest
// and the newest rows, so that a scan from either end reads all between them. Its money is not balanced.
import type postgres from 'postgres';
import type { Uuid } from '../../src/ids.ts';

/** Rows with a rare value, at each end: more than a page. */
const RARE = 30;

/** Values that rows usually have, and the others of each column, of which there are `RARE` rows each at each end. */
const USUAL: Readonly<Record<string, [usual: string, ...rare: string[]]>> = {
  payment: ['settled', 'pending', 'partial', 'expired', 'failed', 'refunded', 'partially_refunded'],
  withdrawal: ['completed', 'processing', 'failed', 'returned'],
  hold: ['released', 'held', 'cancelled'],
  refund: ['completed', 'processing', 'failed'],
  payout: ['completed', 'processing', 'partially_completed', 'failed'],
  review: ['credited', 'open', 'returning', 'returned_to_sender', 'unclaimed', 'recalled'],
};

/** Of a table that does not grow with the book: messages that wait to be sent. */
const WAITING = 300;

/** SQL: the deliveries that wait for another attempt, of an endpoint that has failed and responds again. */
const IS_WAITING = `edge > ${RARE} AND n % 5 = 0`;

/** SQL: the id of the account of the first wallet; those of the others follow. */
const FIRST_ACCOUNT = `(SELECT min(id) FROM ledger.accounts WHERE class = 'customer')`;

/** SQL: whether the posting is at the bank, and the id of the account there, whose balance is derived. */
const AT_BANK = 'n % 10 = 0';
const CLEARING = `(SELECT id FROM ledger.accounts WHERE code = 'clearing:sandbox')`;

/** SQL: the usual value, and for the first and last rows the rare ones in turns. */
function statusOf(column: string): string {
  const [usual, ...rare] = USUAL[column] ?? [''];
  return `CASE WHEN edge <= ${RARE * rare.length} THEN (ARRAY['${rare.join("', '")}'])[1 + n % ${rare.length}] ELSE '${usual}' END`;
}

/**
 * A table: how many rows of a million, or at all; and what it selects from `n`. `at` is the time of row `n`, and `edge`
 * its number from the end that is nearer.
 */
interface Filled {
  share?: number;
  count?: number;
  columns: string;
}

function tablesOf(organisationId: Uuid, types: readonly string[]): Record<string, Filled> {
  const book = `'${organisationId}'::uuid AS organisation_id, 'test' AS environment`;
  const id = (kind: string, number = 'n') => `md5('${kind}' || ${number})::uuid`;
  const metadata = `jsonb_build_object('order', n::text, 'channel', 'web') AS metadata`;
  const rareTypes = types.map((type) => `'${type}'`).join(', ');
  return {
    wallets: {
      share: 0.03,
      columns: `${book}, ${id('wallet')} AS id, 'end_user' AS kind, 'payer' || n || '@test.example' AS email,
        'reference-' || n AS external_reference, CASE WHEN edge <= ${RARE} THEN 'none' ELSE 'tier1' END AS kyc_status, ${metadata}, at AS created_at`,
    },
    payments: {
      share: 0.1,
      columns: `${book}, ${id('payment')} AS id, 1 AS version,
        CASE WHEN edge <= ${RARE} THEN 'virtual_wallet' ELSE 'bank_transfer' END AS method, ${statusOf('payment')} AS status,
        1000 AS base_amount, 10 AS fee, 1010 AS amount_received, 1000 AS amount_credited, 0 AS amount_refunding,
        0 AS amount_refunded, ${id('wallet', '1 + n % 1000')} AS target_wallet_id, 'payment-' || n AS reference, ${metadata},
        at + interval '1 hour' AS expires_at,
        CASE WHEN ${statusOf('payment')} IN ('settled', 'refunded', 'partially_refunded') THEN at END AS settled_at, at AS created_at`,
    },
    virtual_accounts: {
      share: 0.1,
      columns: `${book}, 'sandbox' AS rail, lpad(n::text, 10, '0') AS account_number, 'payment' AS owner_kind,
        ${id('payment')} AS owner_id, 'Bank' AS bank_name, 'Payee' AS account_name, at + interval '1 hour' AS expires_at, at AS created_at`,
    },
    inbound_credits: {
      share: 0.1,
      columns: `${book}, ${id('credit')} AS id, 1 AS version, 'sandbox' AS rail, 'session-' || n AS session_id, 1010 AS amount,
        'payment' AS owner_kind, ${id('payment')} AS owner_id, 'posted' AS status, at AS received_at, at AS created_at`,
    },
    withdrawals: {
      share: 0.04,
      columns: `${book}, ${id('withdrawal')} AS id, 1 AS version, ${id('wallet', '1 + n % 1000')} AS source_wallet_id,
        1000 AS amount, 10 AS fee, ${statusOf('withdrawal')} AS status, '0123456789' AS account_number, '058' AS bank_code,
        'sandbox' AS rail, 'withdrawal-' || n AS reference, ${metadata}, at AS created_at`,
    },
    holds: {
      share: 0.02,
      columns: `${book}, ${id('hold')} AS id, 1 AS version, ${statusOf('hold')} AS status, ${id('wallet', '1 + n % 1000')} AS wallet_id,
        ${id('wallet', '2 + n % 1000')} AS source_wallet_id, ${id('transfer')} AS transfer_id, 100 AS amount,
        CASE ${statusOf('hold')} WHEN 'released' THEN 100 ELSE 0 END AS amount_released,
        CASE ${statusOf('hold')} WHEN 'cancelled' THEN 100 ELSE 0 END AS amount_cancelled, at AS ended_at, at AS created_at`,
    },
    refunds: {
      share: 0.02,
      columns: `${book}, ${id('refund')} AS id, 1 AS version, ${id('payment')} AS payment_id, 100 AS amount,
        CASE WHEN edge <= ${RARE} THEN 'wallet' ELSE 'bank' END AS destination, ${statusOf('refund')} AS status,
        'refund-' || n AS reference, ${metadata}, at AS created_at`,
    },
    payouts: {
      share: 0.01,
      columns: `${book}, ${id('payout')} AS id, 1 AS version, ${id('wallet', '1 + n % 1000')} AS source_wallet_id,
        4000 AS total_amount, 40 AS total_fee, 4 AS item_count, ${statusOf('payout')} AS status, 'payout-' || n AS reference,
        ${metadata}, at AS created_at`,
    },
    payout_items: {
      share: 0.04,
      columns: `${book}, ${id('item')} AS id, 1 AS version, ${id('payout', '1 + n / 4')} AS payout_id, n % 4 AS position,
        1000 AS amount, 10 AS fee, 'failed' AS status, '0123456789' AS account_number, '058' AS bank_code, 'sandbox' AS rail,
        at AS returned_at`,
    },
    review_cases: {
      share: 0.02,
      columns: `${book}, ${id('case')} AS id, 1 AS version,
        CASE WHEN edge <= ${RARE} THEN 'unknown_account' ELSE 'late_credit' END AS reason, ${statusOf('review')} AS status, 10 AS amount,
        'suspense:payment:made_up' AS account_code, ${id('payment')} AS payment_id,
        ${id('wallet', '1 + n % 1000')} AS wallet_id, 0 AS attempts, at AS created_at,
        CASE WHEN edge > ${RARE} THEN 0 END AS late_by_seconds`,
    },
    transfers: {
      share: 0.1,
      columns: `${book}, ${id('transfer')} AS id, ${id('wallet', '1 + n % 1000')} AS source_wallet_id,
        ${id('wallet', '1 + (n + 1) % 1000')} AS destination_wallet_id, 100 AS amount, 0 AS fee, 'completed' AS status,
        'transfer-' || n AS reference, ${metadata}, at AS created_at`,
    },
    'ledger.transactions': {
      share: 0.1,
      columns: `${book}, ${id('transfer')} AS id, 'transfer-' || n AS key, 'transfer' AS kind,
        ledger.public_id(${id('transfer')}, 'trf') AS resource,
        at AS effective_at, at AS moved_at, at AS created_at`,
    },
    'ledger.postings': {
      share: 0.1,
      columns: `${book}, ledger.posting_id(at) AS id, ${id('transfer')} AS transaction_id,
        CASE WHEN ${AT_BANK} THEN ${CLEARING} ELSE ${FIRST_ACCOUNT} + n % 1000 END AS debit_account_id,
        ${FIRST_ACCOUNT} + (n + 1) % 1000 AS credit_account_id, 100 AS amount,
        CASE WHEN NOT ${AT_BANK} THEN 1 + n / 1000 * 2 END AS debit_number, 2 + n / 1000 * 2 AS credit_number,
        CASE WHEN NOT ${AT_BANK} THEN 100 END AS debit_balance_after, 100 AS credit_balance_after, at AS created_at`,
    },
    events: {
      share: 0.15,
      columns: `${book}, ${id('event')} AS id,
        CASE WHEN edge <= ${RARE * types.length} THEN (ARRAY[${rareTypes}])[1 + n % ${types.length}]
             WHEN n % 2 = 0 THEN 'transfer.completed' ELSE 'payment.settled' END AS type,
        ledger.public_id(${id('payment')}, 'pay') AS resource, 1 AS sequence, '{}'::json AS data, at AS created_at`,
    },
    webhook_deliveries: {
      share: 0.08,
      columns: `${book}, ${id('event')} AS event_id, ${id('endpoint', '1')} AS endpoint_id,
        CASE WHEN edge <= ${RARE} THEN 'failed' WHEN ${IS_WAITING} THEN 'pending' ELSE 'delivered' END AS status,
        CASE WHEN ${IS_WAITING} THEN now() + interval '1 hour' END AS next_attempt_at, at AS attempted_at,
        CASE WHEN edge <= ${RARE} THEN 'retries_exhausted' END AS failure_reason, at AS created_at`,
    },
    webhook_endpoints: {
      count: 1,
      columns: `${book}, ${id('endpoint')} AS id, 'http://127.0.0.1:9000/' AS url, 'sealed' AS sealed_secret,
        now() AS recovered_at, at AS created_at`,
    },
    outbox: {
      count: WAITING,
      columns: `${book}, CASE WHEN n % 2 = 0 THEN 'flow' ELSE 'event' END AS topic, '{}'::jsonb AS message, at AS created_at`,
    },
    webhook_attempts: {
      share: 0.08,
      columns: `${book}, ${id('event')} AS event_id, ${id('endpoint', '1')} AS endpoint_id, at AS attempted_at, 5 AS duration_ms`,
    },
    request_logs: {
      share: 0.05,
      columns: `${book}, decode(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0'), 'hex') AS request_id,
        ${id('key')} AS key_id, 'GET' AS method, '/payments' AS route,
        CASE WHEN edge <= ${RARE} THEN 500 WHEN edge <= ${2 * RARE} THEN 409 ELSE 200 END AS status,
        CASE WHEN edge <= ${RARE} THEN 'INTERNAL_ERROR' WHEN edge <= ${2 * RARE} THEN 'IDEMPOTENCY_CONFLICT' END AS error_code,
        5 AS duration_ms, at AS created_at`,
    },
    idempotency_keys: {
      share: 0.03,
      columns: `${book}, 'key-' || n AS key, ''::bytea AS fingerprint, ${id('attempt')} AS attempt, 200 AS status_code,
        '{}' AS response, at AS created_at`,
    },
    transfer_sends: {
      share: 0.03,
      columns: `${book}, ledger.public_id(${id('withdrawal')}, 'wth') AS reference, 1 AS sends, at AS sent_at, true AS is_known`,
    },
  };
}

/** Fills the book, oldest first, with about this many rows in a year. `types`: the rare types of events. */
export async function fillBook(
  sql: postgres.Sql,
  organisationId: Uuid,
  rows: number,
  types: readonly string[],
): Promise<void> {
  const insert = async (
    table: string,
    { share = 0, count = Math.ceil(rows * share), columns }: Filled,
  ): Promise<void> => {
    const names = [...columns.matchAll(/ AS (\w+)(?=,\s|\s*$)/g)].map(([, name]) => name);
    await sql.unsafe(`
      INSERT INTO ${table} (${names.join(', ')})
      SELECT ${columns}
      FROM generate_series(1, ${count}) AS n,
           LATERAL (SELECT date_trunc('milliseconds', now() - (${count} - n + 1) * interval '365 days' / ${count}) AS at,
                           least(n, ${count} + 1 - n) AS edge) made`);
  };
  const { wallets, ...others } = tablesOf(organisationId, types);
  if (wallets !== undefined) await insert('wallets', wallets);
  await sql.unsafe(`
    INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance, last_number, status, created_at)
    SELECT organisation_id, environment, account_code, 'customer', 0, 1000000,
           CASE WHEN edge <= ${RARE} THEN 'frozen' WHEN edge <= ${2 * RARE} THEN 'closed' ELSE 'active' END, created_at
    FROM (SELECT *, row_number() OVER (ORDER BY created_at) AS n,
                 least(row_number() OVER (ORDER BY created_at), row_number() OVER (ORDER BY created_at DESC)) AS edge
          FROM wallets WHERE kind = 'end_user') w ORDER BY n`);
  await sql.unsafe(`
    INSERT INTO ledger.accounts (organisation_id, environment, code, class, created_at)
    VALUES ('${organisationId}', 'test', 'clearing:sandbox', 'bank', now() - interval '365 days')`);
  for (const [table, definition] of Object.entries(others)) await insert(table, definition);
  await closeDays(sql, organisationId);
  await sql`VACUUM (ANALYZE)`;
}

/** As the runs of a year leave it: yesterday is not closed yet, and the last hour not compared with the bank. */
async function closeDays(sql: postgres.Sql, organisationId: Uuid): Promise<void> {
  await sql.unsafe(`
    INSERT INTO ledger.closed_days (organisation_id, environment, day, ends_at, settled_at, completed_at)
    SELECT '${organisationId}', 'test', day, ledger.day_end(day), now(), now()
    FROM (SELECT ledger.accounting_day(now()) - n AS day FROM generate_series(2, 366) AS n) days`);
  await sql.unsafe(`
    INSERT INTO ledger.closing_balances (organisation_id, environment, account_id, day, balance, last_number, read_number)
    SELECT a.organisation_id, a.environment, a.id, d.day, 0, n.last, n.last
    FROM ledger.accounts a JOIN ledger.closed_days d USING (organisation_id, environment),
         LATERAL (SELECT CASE WHEN a.balance IS NULL THEN ledger.posting_id(d.ends_at) ELSE a.last_number END AS last) n
    WHERE a.balance IS NULL OR d.day = ledger.accounting_day(now()) - 2`);
  await sql.unsafe(`
    INSERT INTO rail_progress (organisation_id, environment, rail, reconciled_to, read_from)
    VALUES ('${organisationId}', 'test', 'sandbox', now() - interval '1 hour', now() - interval '1 hour')`);
}
