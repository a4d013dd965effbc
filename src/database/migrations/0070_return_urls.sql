-- Where the payment page of a payment leads back to (docs/decisions/0050-signed-return-links.md).
ALTER TABLE payments ADD COLUMN return_url text;
COMMENT ON COLUMN payments.return_url IS 'An address of the caller''s own, to which its payment page leads back; NULL: nowhere.';
