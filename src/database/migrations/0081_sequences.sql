-- The identity columns of the tables that the application writes. A server that takes the number itself, as the nodes of
-- a distributed database do, asks for this right; a plain one never does (docs/decisions/0056-right-on-citus-too.md).
GRANT USAGE ON SEQUENCE outbox_id_seq, webhook_attempts_id_seq, audit_log_id_seq TO manilla_app;
