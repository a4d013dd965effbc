#!/bin/sh
# Runs once, when the Postgres of docker-compose.yml initialises its data directory. Creates the owner of the database
# of the service, the login of the service, which owns nothing, and a role for Temporal, which creates its own
# databases. None of them is a superuser. The standby replicates as the superuser.
set -eu
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" \
  --set=manilla_password="$MANILLA_DATABASE_PASSWORD" \
  --set=service_password="$MANILLA_SERVICE_PASSWORD" \
  --set=temporal_password="$TEMPORAL_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE manilla LOGIN CREATEROLE PASSWORD :'manilla_password';
CREATE ROLE manilla_app NOLOGIN ROLE manilla;
CREATE ROLE manilla_service LOGIN PASSWORD :'service_password' IN ROLE manilla_app;
CREATE DATABASE manilla OWNER manilla;
CREATE ROLE temporal LOGIN CREATEDB PASSWORD :'temporal_password';
SQL
echo 'host replication postgres samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"
