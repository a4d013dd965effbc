-- A credit that the rail does not confirm may be set aside by an operator: no money is posted, and a review case of the reason
-- credit_unconfirmed, which holds no money, waits for a person. When the rail confirms it after all, it is `received` again.
ALTER TABLE inbound_credits
  DROP CONSTRAINT inbound_credits_status_check,
  ADD CONSTRAINT inbound_credits_status_check CHECK (status IN ('received', 'posted', 'suspense', 'set_aside'));
COMMENT ON COLUMN inbound_credits.status IS 'received: reported, not in the books yet; posted; suspense; set_aside: the rail did not confirm it, so nothing was posted.';

ALTER TABLE review_cases
  DROP CONSTRAINT break_holds_no_money,
  ADD CONSTRAINT break_holds_no_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed') THEN account_code IS NULL AND status IN ('open', 'settled')
         ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'settled' END);
COMMENT ON TABLE review_cases IS 'What a person must decide: where money in suspense belongs, that what is behind a reconciliation break is put right, or what became of a credit that the rail did not confirm.';
COMMENT ON COLUMN review_cases.amount IS 'The money in suspense; for a break or an unconfirmed credit, the money in question.';
COMMENT ON COLUMN review_cases.account_code IS 'The suspense account that holds the money; NULL for a break and for an unconfirmed credit, which hold none.';
