-- The views of the schema `accounting`. They run with the rights of their owner, so the role that reads them needs no
-- right on a table. A version that changes the columns of a view drops it first.

-- Both sides of every posting, from the account that it debits or credits. Also read by src/ledger/reports.ts.
CREATE OR REPLACE VIEW ledger.entries AS
SELECT a.organisation_id, a.environment, a.id AS account_id, a.code AS account,
       side.posting_id, side.transaction_id, side.debit, side.credit, side.balance_after, side.created_at, side.contra_id,
       contra.code AS contra,
       t.kind, t.resource, t.effective_at,
       ledger.accounting_day(side.created_at) AS day,
       CASE WHEN date_trunc('month', ledger.accounting_day(t.effective_at)) < date_trunc('month', ledger.accounting_day(side.created_at))
            THEN to_char(ledger.accounting_day(t.effective_at), 'YYYY-MM') END AS belongs_to,
       side.number
FROM ledger.accounts a
CROSS JOIN LATERAL (
  SELECT id AS posting_id, transaction_id, amount AS debit, 0::bigint AS credit, debit_balance_after AS balance_after, created_at,
         credit_account_id AS contra_id, coalesce(debit_number, id) AS number
  FROM ledger.postings WHERE organisation_id = a.organisation_id AND debit_account_id = a.id
  UNION ALL
  SELECT id, transaction_id, 0, amount, credit_balance_after, created_at, debit_account_id, coalesce(credit_number, id)
  FROM ledger.postings WHERE organisation_id = a.organisation_id AND credit_account_id = a.id
) side
JOIN ledger.transactions t ON t.organisation_id = a.organisation_id AND t.id = side.transaction_id
JOIN ledger.accounts contra ON contra.organisation_id = a.organisation_id AND contra.id = side.contra_id;
GRANT SELECT ON ledger.entries TO manilla_app;

CREATE OR REPLACE VIEW accounting.trial_balance AS
SELECT o.public_id AS organisation, d.environment, d.day, a.code::text AS account,
       greatest(-c.balance, 0) AS debit, greatest(c.balance, 0) AS credit
FROM public.organisations o
JOIN ledger.closed_days d ON d.organisation_id = o.organisation_id AND d.completed_at IS NOT NULL
JOIN ledger.accounts a ON a.organisation_id = d.organisation_id AND a.environment = d.environment
CROSS JOIN LATERAL (
  SELECT balance FROM ledger.closing_balances
  WHERE organisation_id = a.organisation_id AND account_id = a.id AND day <= d.day ORDER BY day DESC LIMIT 1
) c
WHERE c.balance <> 0;
COMMENT ON VIEW accounting.trial_balance IS
  'The balance of each account at the end of each closed day, in kobo: of a book and day, debits are equal to credits.';

CREATE OR REPLACE VIEW accounting.account_entries AS
SELECT o.public_id AS organisation, e.environment, e.account::text AS account, e.day, e.number AS entry,
       ledger.public_id(e.transaction_id, 'txn') AS transaction, e.kind, e.resource, e.contra::text AS contra_account,
       e.debit, e.credit, e.balance_after, e.created_at AS booked_at, e.effective_at, e.belongs_to
FROM public.organisations o JOIN ledger.entries e ON e.organisation_id = o.organisation_id;
COMMENT ON VIEW accounting.account_entries IS 'The entries of each account, in kobo. Read one account at a time.';
COMMENT ON COLUMN accounting.account_entries.entry IS '1, 2, 3 …; without balance_after a number that may occur twice.';
COMMENT ON COLUMN accounting.account_entries.balance_after IS
  'Credits less debits. NULL: an account of the platform, whose balance is the sum of its entries.';
COMMENT ON COLUMN accounting.account_entries.belongs_to IS 'The month in which it happened, if that is an earlier one.';

-- The open items of each organisation, also read by src/verification/openItems.ts.
CREATE OR REPLACE VIEW ledger.open_items AS
SELECT organisation_id, environment, 'in_transit:withdrawals' AS account, ledger.public_id(id, 'wth') AS resource,
       amount + fee AS amount, created_at AS since
FROM public.withdrawals WHERE status = 'processing'
UNION ALL
SELECT organisation_id, environment, 'in_transit:refunds', ledger.public_id(id, 'rfd'), amount, created_at
FROM public.refunds WHERE status = 'processing'
UNION ALL
SELECT p.organisation_id, p.environment,
       CASE i.status WHEN 'processing' THEN 'in_transit:payouts' ELSE 'reserve:payout:' || ledger.public_id(p.id, 'pyo') END,
       ledger.public_id(i.id, 'poi'), i.amount + i.fee, coalesce(hold.created_at, p.created_at)
FROM public.payouts p
JOIN public.payout_items i ON i.organisation_id = p.organisation_id AND i.payout_id = p.id AND i.status IN ('pending', 'processing')
LEFT JOIN ledger.transactions hold
  ON hold.organisation_id = i.organisation_id AND hold.environment = i.environment AND hold.key = ledger.public_id(i.id, 'poi') || '/hold'
WHERE p.status = 'processing'
UNION ALL
SELECT p.organisation_id, p.environment, 'suspense:payment:' || ledger.public_id(p.id, 'pay'), ledger.public_id(p.id, 'pay'),
       p.amount_received, c.since
FROM public.payments p
CROSS JOIN LATERAL (
  SELECT min(created_at) AS since FROM public.inbound_credits
  WHERE organisation_id = p.organisation_id AND environment = p.environment AND owner_id = p.id AND status = 'posted'
) c
WHERE p.status = 'partial'
UNION ALL
SELECT organisation_id, environment, CASE status WHEN 'open' THEN account_code ELSE 'in_transit:returns' END,
       ledger.public_id(id, 'rev'), amount, created_at
FROM public.review_cases WHERE status IN ('open', 'returning') AND account_code IS NOT NULL;
GRANT SELECT ON ledger.open_items TO manilla_app;

CREATE OR REPLACE VIEW accounting.open_items AS
SELECT o.public_id AS organisation, i.environment, i.account, i.resource, i.amount, i.since
FROM public.organisations o JOIN ledger.open_items i ON i.organisation_id = o.organisation_id;
COMMENT ON VIEW accounting.open_items IS
  'What is in transit, in reserve and in suspense now, in kobo: the sum by account is its balance.';

GRANT SELECT ON accounting.trial_balance, accounting.account_entries, accounting.open_items TO manilla_accountant;
-- Functions in a view are called with the rights of its reader; these two read nothing.
GRANT EXECUTE ON FUNCTION ledger.public_id, ledger.accounting_day TO manilla_accountant;
