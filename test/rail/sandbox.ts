// A sandbox bank with its own database, behind its rail port, and a customer that records every callback with the
// bank's signature.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, parseId, publicId, type Uuid } from '../../src/ids.ts';
import { type Keyring, parseKeyring } from '../../src/keyring.ts';
import type {
  AccountRequest,
  BankRail,
  CallbackRequest,
  RailCallback,
  TransferInstruction,
  TransferReport,
} from '../../src/rail/port.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { SandboxBank } from '../../src/rail/sandbox/bank.ts';
import { sandboxCapabilities } from '../../src/rail/sandbox/capabilities.ts';
import { createDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

export const KEYRING: Keyring = parseKeyring(`new:${Buffer.alloc(32, 1).toString('base64url')}`);
export const NOT_VISIBLE_FOR_MS = 1_234;

export const CAPABILITIES = sandboxCapabilities({
  callLimitMs: 5_000,
  notVisibleForMs: NOT_VISIBLE_FOR_MS,
});

/** A request for a permanent account number. */
export const accountRequest = (organisationId: Uuid): AccountRequest => ({
  organisationId,
  reference: newReference(),
  holder: { name: 'Ada Obi', email: 'ada@example.com', bvn: null },
  kind: 'permanent',
});

export interface TestSandbox {
  bank: SandboxBank;
  rail: BankRail;
  organisationId: Uuid;
  callbacks: RailCallback[];
  /** The same, as they were sent. */
  sent: CallbackRequest[];
  /** A connection of the bank's database. */
  sql: Sql;
  /** Has the customer respond to the first callback about this transfer with 500. */
  refuseNewsOf: (reference: string) => void;
  /** Another process of the same bank, with its own connections. */
  openBranch: (delayMs?: number) => SandboxBank;
  /** The number of callbacks about this transfer so far. */
  newsOf: (reference: string) => number;
  /** The transfer once the rail reports this status. */
  untilStatus: (reference: string, status: TransferReport['status']) => Promise<TransferReport>;
  close: () => Promise<void>;
}

export const newReference = (): string => publicId('withdrawal', newUuid());

/** An instruction to send ₦2,500 to an account that completes transfers, unless stated otherwise. */
export function instruct(organisationId: Uuid, more: Partial<TransferInstruction> = {}): TransferInstruction {
  return {
    organisationId,
    reference: newReference(),
    amount: 250_000,
    accountNumber: '0123456789',
    bankCode: '058',
    accountName: null,
    narration: 'Rent',
    ...more,
  };
}

/** With a stopped clock, the bank neither ends transfers nor sends callbacks. */
export async function startSandbox(options: { clock?: 'stopped' } = {}): Promise<TestSandbox> {
  const database = await createDatabase();
  const callbacks: RailCallback[] = [];
  const sent: CallbackRequest[] = [];
  const refused = new Set<string>();
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const owner = parseId('organisation', (request.url ?? '').slice(1)) ?? '';
      const received = { organisationId: owner, headers: request.headers, body: Buffer.concat(chunks) };
      sent.push(received);
      const [callback] = rail.parseCallback(received) as [RailCallback];
      callbacks.push(callback);
      const refuses = callback.kind === 'transfer_update' && refused.delete(callback.reference);
      response.writeHead(refuses ? 500 : 204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

  const pools: Sql[] = [];
  const openPool = (): Sql => {
    const sql = connect(database.url, { connectionsMax: 5 });
    pools.push(sql);
    return sql;
  };
  const openBranch = (delayMs = 0): SandboxBank =>
    new SandboxBank({
      sql: openPool(),
      keyring: KEYRING,
      log: pino({ level: 'silent' }),
      callbackUrl,
      delayMs,
      capabilities: CAPABILITIES,
    });
  const bank = openBranch();
  const rail = createSandboxRail(bank, KEYRING);
  const clock = bank.clock();
  if (options.clock !== 'stopped') clock.start();
  const organisationId = newUuid();

  return {
    bank,
    rail,
    organisationId,
    callbacks,
    sent,
    sql: openPool(),
    refuseNewsOf: (reference) => void refused.add(reference),
    openBranch,
    newsOf: (reference) =>
      callbacks.filter((callback) => callback.kind === 'transfer_update' && callback.reference === reference).length,
    untilStatus: (reference, status) =>
      waitFor(`${reference} to be ${status}`, async () => {
        const report = await rail.transferStatus({ organisationId, reference });
        return report?.status === status && report;
      }),
    close: async () => {
      await clock.stop();
      await Promise.all(pools.map((sql) => sql.end()));
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
      await database.drop();
    },
  };
}
