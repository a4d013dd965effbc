// Errors of commands whose dependencies are unavailable: one line with what to do, no stack trace, and a non-zero exit
// code.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { connect } from '../../src/database/pool.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { startTestApi } from '../support/api.ts';
import { createDatabase, type TestDatabase, testStack } from '../support/stack.ts';
import { runCli } from './run.ts';

let database: TestDatabase;
let home: string;
let unresponsive: Server;
const sockets: Socket[] = [];
let unusedPort: number;

beforeAll(async () => {
  database = await createDatabase();
  const sql = connect(database.url, { connectionsMax: 1 });
  await createOrganisation(sql, { name: 'Ada', email: 'ada@example.com', operator: { id: null, name: 'test' } });
  await sql.end();
  home = await mkdtemp(path.join(tmpdir(), 'manilla-cli-'));
  unusedPort = await freePort();
  // Accepts every connection and never responds.
  unresponsive = createServer((socket) => sockets.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => unresponsive.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  unresponsive.close();
  await database.drop();
  await rm(home, { recursive: true });
});

const OUTAGES = {
  'nothing listens': () => `127.0.0.1:${unusedPort}`,
  'a server accepts the connection and never responds': () =>
    `127.0.0.1:${(unresponsive.address() as AddressInfo).port}`,
} as const;
const OUTAGE_NAMES = Object.keys(OUTAGES) as (keyof typeof OUTAGES)[];

const id = (kind: 'withdrawal' | 'reviewCase' | 'adjustment' | 'wallet' | 'apiKey'): string =>
  publicId(kind, newUuid());
const REASON = ['--reason', 'a test'];

const WITH_TEMPORAL: string[][] = [
  ['flows', 'missing'],
  ['flows', 'missing', '--start', '--json'],
  ['reconciliation', 'run'],
  ['attention', 'list'],
  ['attention', 'show', id('withdrawal')],
  ['attention', 'retry', id('withdrawal'), ...REASON],
  ['attention', 'retry', '--query', 'AmountKobo > 0', ...REASON],
  ['attention', 'resolve', id('withdrawal'), '--action', 'retry', ...REASON],
  ['reviews', 'resolve', id('reviewCase'), '--action', 'move_to_unclaimed', ...REASON],
  ['adjustments', 'approve', id('adjustment'), ...REASON],
];

const WITH_DATABASE: string[][] = [
  ['organisations', 'list'],
  ['organisations', 'create', '--name', 'Obi'],
  ['keys', 'list'],
  ['keys', 'create', '--environment', 'test', '--scopes', 'wallet'],
  ['keys', 'revoke', id('apiKey')],
  ['migrate'],
  ['wallets', 'show', id('wallet')],
  ['wallets', 'freeze', id('wallet'), ...REASON],
  ['ledger', 'verify'],
  ['ledger', 'open-items'],
  ['flows', 'missing'],
  ['rail', 'show'],
  ['rail', 'pause', 'test', ...REASON],
  ['rail', 'resume', 'test', ...REASON],
  ['reviews', 'list'],
  ['reviews', 'show', id('reviewCase')],
  ['adjustments', 'request', '--environment', 'test', '--posting', 'a:b c:d 1', '--evidence', 'none', ...REASON],
  ['reconciliation', 'show'],
];

for (const outage of OUTAGE_NAMES) {
  test.concurrent.each(WITH_TEMPORAL.map((words) => [words.join(' '), words] as const))(
    `"%s" reports that Temporal is unavailable in one line (${outage})`,
    async (_, words) => {
      const address = OUTAGES[outage]();
      const result = await runCli(words, { databaseUrl: database.url, home, temporalAddress: address });
      expect(result).toEqual({
        exitCode: 1,
        output: '',
        errors: expect.stringMatching(
          new RegExp(
            `^error: Temporal is unreachable at ${address} \\(.+\\)\\. Start it, or set TEMPORAL_ADDRESS\\.\\n$`,
          ),
        ),
      });
    },
  );

  test.concurrent.each(WITH_DATABASE.map((words) => [words.join(' '), words] as const))(
    `"%s" reports that the database is unavailable in one line (${outage})`,
    async (_, words) => {
      const result = await runCli(words, {
        databaseUrl: `postgres://manilla:secret@${OUTAGES[outage]()}/manilla`,
        home,
        temporalAddress: testStack().temporalAddress,
      });
      expect(result).toEqual({
        exitCode: 1,
        output: '',
        errors: expect.stringMatching(
          /^error: The database cannot be reached \(.+\)\. Start it, or set DATABASE_URL.*\n$/,
        ),
      });
      expect(result.errors).not.toContain('secret');
    },
  );
}

test('a missing namespace is reported with the setting to change', async () => {
  const result = await runCli(['attention', 'list'], {
    databaseUrl: database.url,
    home,
    temporalAddress: testStack().temporalAddress,
    temporalNamespace: 'no-such-namespace',
  });
  expect(result).toMatchObject({
    exitCode: 1,
    errors: expect.stringMatching(
      /^error: Temporal at .* has no namespace no-such-namespace\. Set TEMPORAL_NAMESPACE\.\n$/,
    ),
  });
});

/** A server whose frontend responds while its history shards do not. */
async function startDegraded(): Promise<{ address: string; close: () => void }> {
  const server = createHttp2Server();
  server.on('stream', (stream, headers) => {
    const isAvailable = /\/(GetSystemInfo|ListWorkflowExecutions)$/.test(String(headers[':path']));
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () =>
      stream.sendTrailers(
        isAvailable ? { 'grpc-status': '0' } : { 'grpc-status': '14', 'grpc-message': 'shard status unknown' },
      ),
    );
    stream.end(isAvailable ? Buffer.alloc(5) : undefined); // an empty message, with its length before it
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

test('Temporal calls that fail during a command, with many in flight, are reported in one line', async () => {
  const degraded = await startDegraded();
  const api = await startTestApi();
  try {
    const wallet = await api.createWallet();
    const order = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: wallet };
    await Promise.all(Array.from({ length: 12 }, () => api.test.money('/payments', order)));
    const environment = { databaseUrl: api.databaseUrl, home, temporalAddress: degraded.address };
    expect(await runCli(['flows', 'missing', '--age', '0'], environment)).toEqual({
      exitCode: 1,
      output: '',
      errors: `error: Temporal is unreachable at ${degraded.address} (shard status unknown). Start it, or set TEMPORAL_ADDRESS.\n`,
    });
  } finally {
    await api.close();
    degraded.close();
  }
});
