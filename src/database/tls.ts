// Connections to a database on another machine use TLS, with the server's certificate verified: an intruder in the
// network could otherwise read rows, and change statements.
import type postgres from 'postgres';
import { databaseTls } from '../config.ts';

type Protection = 'verified' | 'unverified' | 'off';

/** The parsed options of a pool. The driver has `ssl` from the URL (`sslmode`) or from PGSSL. */
type Options = Pick<postgres.Sql['options'], 'host' | 'path' | 'ssl'>;

/** Throws where a pool connects to another machine with less protection than DATABASE_TLS demands. */
export function requireTls({ host, path, ssl }: Options, environment: NodeJS.ProcessEnv = process.env): void {
  if (path || host.every(isLocal)) return;
  const protection = protectionOf(ssl, environment);
  const { options: best } = databaseTls.unwrap();
  if (best.indexOf(protection) <= best.indexOf(databaseTls.parse(environment.DATABASE_TLS))) return;
  throw new Error(
    `A connection to the database at ${host.join(', ')} would have ` +
      `${protection === 'off' ? 'no TLS' : 'TLS without a verified certificate'}. Append ?sslmode=verify-full to its ` +
      'URL, and name the file of its CA in NODE_EXTRA_CA_CERTS if that is not a public one. In a network that you ' +
      `trust, set DATABASE_TLS=${protection} instead (docs/configuration.md).`,
  );
}

const isLocal = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3})$/.test(host);

/** `require` verifies nothing, and `prefer` sends plain text to a server without TLS. */
function protectionOf(ssl: Options['ssl'], environment: NodeJS.ProcessEnv): Protection {
  if (!ssl || ssl === 'prefer') return 'off';
  if (ssl === 'require' || ssl === 'allow' || environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') return 'unverified';
  return 'verified';
}
