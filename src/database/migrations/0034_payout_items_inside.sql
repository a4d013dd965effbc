-- A payout item to a wallet of the same book need not pass through a rail that charges for collections.
ALTER TABLE payout_items ADD COLUMN inside boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT inside_has_wallet CHECK (NOT inside OR destination_wallet_id IS NOT NULL);
COMMENT ON COLUMN payout_items.inside IS 'Posted within the book, to the destination wallet: nothing is sent to the rail.';
