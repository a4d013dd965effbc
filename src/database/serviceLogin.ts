// The login of a process: it may act as `manilla_app` and as no other role, on a primary. Were it the owner of the
// ledger, any holder of DATABASE_URL or of a connection could disable the triggers and rewrite history.
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../telemetry/log.ts';
import { isOutage } from './errors.ts';
import type { Sql } from './pool.ts';
import { addressesOf, areStandbys } from './primary.ts';

const RETRY_MS = 1_000;

/**
 * Throws when the login owns the ledger or can become its owner, or the server (each of several) is a standby. While
 * the database is unreachable it returns, and checks in the background: `refuse` is called with the error.
 */
export async function requireServiceLogin(
  sql: Sql,
  databaseUrl: string,
  log: Log,
  refuse: (error: Error) => void,
): Promise<void> {
  try {
    await checkLogin(sql);
  } catch (error) {
    if (!isOutage(error)) throw error;
    // The driver ends a connection to a server that is not the primary.
    const isRefused = (error as { code?: string }).code === 'CONNECTION_DESTROYED';
    if (isRefused && (await areStandbys(sql, addressesOf(databaseUrl)))) {
      throw new Error(
        'DATABASE_URL is a standby. Set it to the primary, or to all servers, of which the primary is used ' +
          '(postgres://…@db-1:5432,db-2:5432/manilla).',
        { cause: error },
      );
    }
    log.warn({ err: error }, 'the database is unreachable; its login is checked later');
    void pause(RETRY_MS)
      .then(() => requireServiceLogin(sql, databaseUrl, log, refuse))
      .catch(refuse);
  }
}

async function checkLogin(sql: Sql): Promise<void> {
  const [login] = await sql<{ name: string; isOwner: boolean }[]>`
    SELECT session_user AS name, rolsuper OR rolcreaterole OR rolbypassrls OR EXISTS (
      SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname IN ('ledger', 'public') AND c.relkind = 'r' AND pg_has_role(session_user, c.relowner, 'MEMBER')
    ) AS is_owner
    FROM pg_roles WHERE rolname = session_user`;
  if (login?.isOwner !== false) {
    throw new Error(
      `DATABASE_URL logs in as ${login?.name}, who can become the owner of the ledger. Give the service a login of its ` +
        `own (CREATE ROLE manilla_service LOGIN PASSWORD '…' IN ROLE manilla_app) and use it in DATABASE_URL; the ` +
        "owner's login belongs in OWNER_DATABASE_URL, for `migrate` and `operators create`.",
    );
  }
}
