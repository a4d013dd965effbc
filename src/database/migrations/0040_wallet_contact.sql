-- How the customer of a wallet is reached may change. Who the customer is, the external reference, may not.
GRANT UPDATE (email, full_name, phone) ON wallets TO manilla_app;
