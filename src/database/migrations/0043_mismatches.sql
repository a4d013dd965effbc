-- What happens to money that a payment does not take, and who decided about a case where it was no operator.
ALTER TABLE payments
  ADD COLUMN on_mismatch text NOT NULL DEFAULT 'hold' CHECK (on_mismatch IN ('hold', 'refund'));
COMMENT ON COLUMN payments.on_mismatch IS
  'Money that it does not take: hold opens a review case; refund returns it to its sender without a decision.';
