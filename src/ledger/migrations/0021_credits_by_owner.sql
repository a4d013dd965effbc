-- The credits of a payment, and of a wallet's deposit account, are listed newest first. The index replaces one by owner alone,
-- with the same number of entries to write; it leaves out credits that belong to nobody.
DROP INDEX inbound_credits_by_owner;
CREATE INDEX inbound_credits_by_owner ON inbound_credits (organisation_id, environment, owner_id, created_at, id)
  WHERE owner_id IS NOT NULL;

-- Where a credit that did not stay where it came to has gone: by its own case, or by the one of the payment that held it when
-- it expired.
CREATE INDEX review_cases_by_credit ON review_cases (organisation_id, inbound_credit_id) WHERE inbound_credit_id IS NOT NULL;
CREATE INDEX review_cases_by_expired_payment ON review_cases (organisation_id, payment_id) WHERE reason = 'partial_expired';
