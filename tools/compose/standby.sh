#!/bin/sh
# The entry point of the standby in docker-compose.yml. On its first start it copies the primary, which from then on
# answers no commit before the standby has it on disk.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  primary='host=postgres user=postgres application_name=standby'
  rm -rf "$PGDATA.copy"
  install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA.copy"
  # Of an attempt that was interrupted.
  psql "$primary dbname=postgres" --quiet --set=ON_ERROR_STOP=1 --output=/dev/null --command="
    SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = 'standby' AND NOT active"
  # The slot keeps the WAL that the standby has not received yet.
  gosu postgres pg_basebackup --dbname="$primary" --pgdata="$PGDATA.copy" --checkpoint=fast \
    --write-recovery-conf --create-slot --slot=standby
  mv "$PGDATA.copy" "$PGDATA"
  psql "$primary dbname=postgres" --quiet --set=ON_ERROR_STOP=1 --output=/dev/null \
    --command="ALTER SYSTEM SET synchronous_standby_names = 'standby'" --command='SELECT pg_reload_conf()'
fi
exec docker-entrypoint.sh "$@"
