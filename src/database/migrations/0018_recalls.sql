-- Recalls: the bank takes an inbound credit back.
ALTER TABLE inbound_credits
  ADD COLUMN recall text CHECK (recall IN ('received', 'posted', 'set_aside')),
  ADD COLUMN recalled_from text,
  ADD COLUMN recalled_taken bigint CHECK (recalled_taken BETWEEN 0 AND amount),
  DROP CONSTRAINT inbound_credits_status_check,
  ADD CONSTRAINT inbound_credits_status_check
    CHECK (status IN ('received', 'posted', 'suspense', 'set_aside', 'recalled'));
COMMENT ON COLUMN inbound_credits.status IS
  'Where it was placed. received: reported, not posted yet; posted; suspense; set_aside: not confirmed by the rail, so '
  'nothing was posted; recalled: taken back by the bank before anything was posted.';
COMMENT ON COLUMN inbound_credits.recall IS
  'NULL: the bank has not taken it back. received: it says that it has; posted: confirmed and posted; set_aside: not '
  'confirmed, with a review case.';
COMMENT ON COLUMN inbound_credits.recalled_from IS
  'The account that the money of a posted recall was taken from; NULL: none, it was no longer here.';
COMMENT ON COLUMN inbound_credits.recalled_taken IS 'How much of it was taken from there; the rest is receivable.';
CREATE INDEX inbound_credits_recalls ON inbound_credits (organisation_id, id) WHERE recall = 'received';

ALTER TABLE review_cases
  DROP CONSTRAINT review_cases_status_check,
  ADD CONSTRAINT review_cases_status_check
    CHECK (status IN ('open', 'returning', 'credited', 'returned_to_sender', 'unclaimed', 'closed', 'recalled')),
  DROP CONSTRAINT review_case_money,
  ADD CONSTRAINT review_case_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed', 'paid_after_failure', 'credit_recalled')
         THEN account_code IS NULL AND status IN ('open', 'closed')
         ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'closed' END);

ALTER TABLE sandbox_bank.credits ADD COLUMN recalled_at timestamptz(3);
COMMENT ON COLUMN sandbox_bank.credits.recalled_at IS 'When the sending bank took it back; NULL: it did not.';
