-- Each account that a batch posts to is found by its code. The tree that keeps codes unique is walked from its root for each of
-- them, text compared with text on every page; a hash leads to the one page at once. It costs an entry more when an account is
-- opened, and nothing when its balance changes.
CREATE INDEX accounts_by_code ON ledger.accounts USING hash (code);
