#!/bin/sh
# Runs once, when the Postgres of docker-compose.yml initialises its data directory. Creates a role and a database for
# the service, and a role for Temporal, which creates its own databases. Neither role is a superuser.
set -eu
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" \
  --set=manilla_password="$MANILLA_DATABASE_PASSWORD" \
  --set=temporal_password="$TEMPORAL_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE manilla LOGIN CREATEROLE PASSWORD :'manilla_password';
CREATE DATABASE manilla OWNER manilla;
CREATE ROLE temporal LOGIN CREATEDB PASSWORD :'temporal_password';
SQL
