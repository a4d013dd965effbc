// The connection to a database on another machine is encrypted and verified, unless DATABASE_TLS says less by name.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import postgres from 'postgres';
import { generate } from 'selfsigned';
import { connect } from '../../src/database/pool.ts';
import { requireTls } from '../../src/database/tls.ts';

/** What is refused of a URL with these settings; null: nothing. */
function refusalOf(url: string, environment: NodeJS.ProcessEnv = {}): string | null {
  try {
    requireTls(postgres(url, { max: 1 }).options, environment);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const REMOTE = 'postgres://service@db.example.com/manilla';

test.each([
  ['', 'no TLS'],
  ['?sslmode=disable', 'no TLS'],
  ['?sslmode=false', 'no TLS'],
  ['?ssl=false', 'no TLS'],
  ['?sslmode=', 'no TLS'],
  ['?sslmode=prefer', 'no TLS'],
  ['?sslmode=allow', 'without a verified certificate'],
  ['?sslmode=require', 'without a verified certificate'],
  ['?ssl=require', 'without a verified certificate'],
  ['?sslmode=require&sslmode=prefer', 'no TLS'],
])('a URL with %s is refused: %s', (query, problem) => {
  expect(refusalOf(`${REMOTE}${query}`)).toContain(problem);
});

test.each(['?sslmode=verify-full', '?sslmode=verify-ca', '?ssl=true', '?sslrootcert=system'])(
  'a URL with %s is accepted',
  (query) => expect(refusalOf(`${REMOTE}${query}`)).toBeNull(),
);

test.each([
  'postgres://service@10.0.0.7/manilla',
  'postgres://service@db/manilla',
  'postgres://service@localhost:5432,db-2:5432/manilla',
  'postgres://service@db-1:5432,127.0.0.1:5432/manilla',
  'postgres://service@localhost.example.com/manilla',
  'postgres://service@127.example.com/manilla',
])('without TLS %s is another machine', (url) => expect(refusalOf(url)).toContain('no TLS'));

test.each([
  'postgres://service@localhost/manilla',
  'postgres://service@127.0.0.1:5433/manilla',
  'postgres://service@127.0.0.1:5433,localhost:5434/manilla',
])('%s is this machine', (url) => expect(refusalOf(url)).toBeNull());

test('so is a Unix socket', () => {
  expect(() => requireTls(postgres({ host: '/var/run/postgresql', max: 1 }).options, {})).not.toThrow();
});

test.each([
  ['unverified', '?sslmode=require', true],
  ['unverified', '?sslmode=verify-full', true],
  ['unverified', '?sslmode=prefer', false],
  ['unverified', '', false],
  ['off', '', true],
  ['off', '?sslmode=prefer', true],
  ['off', '?sslmode=require', true],
  ['verified', '?sslmode=require', false],
])('with DATABASE_TLS=%s a URL with %s is accepted: %s', (level, query, isAccepted) => {
  expect(refusalOf(`${REMOTE}${query}`, { DATABASE_TLS: level }) === null).toBe(isAccepted);
});

test('a process in which Node verifies nothing is refused', () => {
  const refusal = refusalOf(`${REMOTE}?sslmode=verify-full`, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  expect(refusal).toContain('without a verified certificate');
});

test('a misspelled DATABASE_TLS is refused', () => {
  expect(refusalOf(REMOTE, { DATABASE_TLS: 'none' })).toContain('Invalid');
});

test.each(['api/main', 'worker/main', 'api/codec/main', 'cli/main'])('%s does not connect without it', async (name) => {
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    const env = {
      ...process.env,
      DATABASE_URL: REMOTE,
      OWNER_DATABASE_URL: REMOTE,
      MANILLA_KEYS: `k1:${'A'.repeat(43)}`,
      TEMPORAL_PAYLOAD_KEYS: `k1:${'A'.repeat(43)}`,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    };
    const file = fileURLToPath(new URL(`../../src/${name}.ts`, import.meta.url));
    execFile(process.execPath, [file, ...(name === 'cli/main' ? ['migrate'] : [])], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, output: stdout + stderr }),
    );
  });
  expect(output).toContain('A connection to the database at db.example.com would have no TLS');
  expect(code).toBe(1);
});

test('sslmode=verify-full refuses a server with a certificate of an unknown authority', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], { keyType: 'ec' });
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => {});
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sql = connect(`postgres://service@localhost:${port}/manilla?sslmode=verify-full`, { connectionsMax: 1 });
  await expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  await sql.end({ timeout: 0 });
  server.close();
});
