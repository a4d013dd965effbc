-- A wallet and its account numbers belong to the same customer for ever: the application may write them once, and change
-- only what KYC changes. Otherwise it could give the money of a wallet to the customer of another one, which no check of
-- the ledger finds.
REVOKE UPDATE ON organisations, wallets, wallet_kyc, virtual_accounts FROM manilla_app;
GRANT UPDATE (kyc_status) ON wallets TO manilla_app;
GRANT UPDATE (sealed, submitted_at) ON wallet_kyc TO manilla_app;
