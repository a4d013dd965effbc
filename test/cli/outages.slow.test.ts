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
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { startTestApi } from '../support/api.ts';
import { createDatabase, ownerOf, type TestDatabase, testStack } from '../support/stack.ts';
import { type Ended, runCli, runCliProcess } from './run.ts';

let database: TestDatabase;
let home: string;
let unresponsive: Server;
const sockets: Socket[] = [];
let unusedPort: number;

beforeAll(async () => {
  database = await createDatabase();
  const sql = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
  await createOrganisation(sql, { name: 'Ada', email: 'ada@example.com', proof: OWNER_PROOF });
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

/** The first command of a list runs in a process of its own, which must exit; for the others their result is enough. */
const runIn = (words: string[], list: string[][]) => (words === list[0] ? runCliProcess : runCli);

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

/** All commands run at once and mostly wait. */
const ended = new Map<string, Promise<Ended>>();
const nameOf = (outage: string, down: string, words: string[]): string => [outage, down, ...words].join(' ');

beforeAll(async () => {
  for (const outage of OUTAGE_NAMES) {
    const address = OUTAGES[outage]();
    for (const words of WITH_TEMPORAL) {
      const surroundings = { databaseUrl: database.url, home, temporalAddress: address };
      ended.set(nameOf(outage, 'Temporal', words), runIn(words, WITH_TEMPORAL)(words, surroundings));
    }
    for (const words of WITH_DATABASE) {
      const databaseUrl = `postgres://manilla:secret@${address}/manilla`;
      const surroundings = { databaseUrl, home, temporalAddress: testStack().temporalAddress };
      ended.set(nameOf(outage, 'the database', words), runIn(words, WITH_DATABASE)(words, surroundings));
    }
  }
  await Promise.allSettled(ended.values());
}, 600_000);

for (const outage of OUTAGE_NAMES) {
  test.each(WITH_TEMPORAL.map((words) => [words.join(' '), words] as const))(
    `"%s" reports that Temporal is unavailable in one line (${outage})`,
    async (_, words) => {
      expect(await ended.get(nameOf(outage, 'Temporal', words))).toEqual({
        exitCode: 1,
        output: '',
        errors: expect.stringMatching(
          new RegExp(
            `^error: Temporal is unreachable at ${OUTAGES[outage]()} \\(.+\\)\\. Start it, or check TEMPORAL_ADDRESS, .+\\.\\n$`,
          ),
        ),
      });
    },
  );

  test.each(WITH_DATABASE.map((words) => [words.join(' '), words] as const))(
    `"%s" reports that the database is unavailable in one line (${outage})`,
    async (_, words) => {
      const result = await ended.get(nameOf(outage, 'the database', words));
      expect(result).toEqual({
        exitCode: 1,
        output: '',
        errors: expect.stringMatching(
          /^error: The database cannot be reached \(.+\)\. Start it, or set DATABASE_URL.*\n$/,
        ),
      });
      expect(result?.errors).not.toContain('secret');
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
      /^error: Temporal at .* has no namespace no-such-namespace\. Set TEMPORAL_NAMESPACE, or run: temporal .+\n$/,
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
    // Until then a payment has no flow.
    await api.sql`UPDATE payments SET expires_at = now() - interval '1 minute'`;
    const environment = { databaseUrl: api.databaseUrl, home, temporalAddress: degraded.address };
    expect(await runCliProcess(['flows', 'missing', '--age', '0'], environment)).toEqual({
      exitCode: 1,
      output: '',
      errors: expect.stringMatching(
        /^error: Temporal is unreachable at .+ \(shard status unknown\)\. Start it, or check .+\.\n$/,
      ),
    });
  } finally {
    await api.close();
    degraded.close();
  }
});
