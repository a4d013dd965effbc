// What the sandbox rail believes of a callback, and that a bank which cannot be reached is an outage and not a refusal.
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { connect } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { parseKeyring } from '../../src/keyring.ts';
import { RailCallbackInvalidError, RailUnavailableError } from '../../src/rail/port.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { SandboxBank } from '../../src/rail/sandbox/bank.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import { instruct, KEYRING, newReference } from './sandbox.ts';

/** Nobody listens on port 1: neither the database nor a customer. */
const away = connect('postgres://nobody@127.0.0.1:1/nothing', { connectionsMax: 1 });
const bank = new SandboxBank({
  sql: away,
  keyring: KEYRING,
  log: pino({ level: 'silent' }),
  callbackUrl: 'http://127.0.0.1:1/',
  delayMs: 0,
  callLimitMs: 5_000,
  unknownIsFinalAfterMs: 0,
});
const rail = createSandboxRail(bank, KEYRING);
const organisationId = newUuid();

const NEWS = { type: 'transfer_update', contract: organisationId, reference: newReference() };
const CREDIT = {
  type: 'inbound_credit',
  contract: organisationId,
  sessionId: '000999260101120000000000000001',
  accountNumber: '6000000001',
  amount: 5_000,
  senderName: null,
  senderAccountNumber: null,
  senderBankCode: null,
  receivedAt: '2026-01-01T12:00:00.000Z',
};

const secondsAgo = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);

function parse(body: unknown, header?: string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { [SIGNATURE_HEADER]: header ?? signCallback(KEYRING, text, new Date()) };
  return rail.parseCallback(headers, Buffer.from(text));
}

describe('a signed callback is believed', () => {
  test('news of a transfer names the organisation and the reference, and no outcome', () => {
    expect(parse(NEWS)).toEqual({ kind: 'transfer_update', organisationId, reference: NEWS.reference });
  });

  test('a credit carries what arrived', () => {
    const { type: _type, contract: _contract, receivedAt, ...facts } = CREDIT;
    const credit = { organisationId, ...facts, receivedAt: new Date(receivedAt) };
    expect(parse(CREDIT)).toEqual({ kind: 'inbound_credit', credit });
  });

  test('also when it was signed with an older key of the ring', () => {
    const older = parseKeyring(`old:${Buffer.alloc(32, 2).toString('base64url')}`);
    const ring = parseKeyring(
      `new:${Buffer.alloc(32, 1).toString('base64url')},old:${Buffer.alloc(32, 2).toString('base64url')}`,
    );
    const text = JSON.stringify(NEWS);
    const headers = { [SIGNATURE_HEADER]: signCallback(older, text, new Date()) };
    expect(createSandboxRail(bank, ring).parseCallback(headers, Buffer.from(text))).toMatchObject({
      reference: NEWS.reference,
    });
  });
});

describe('a callback is refused', () => {
  const text = JSON.stringify(NEWS);
  const stranger = parseKeyring(`new:${Buffer.alloc(32, 9).toString('base64url')}`);
  const otherPurpose = `${Math.floor(Date.now() / 1_000)}.${text}`;

  test.each([
    ['without a signature', text, ''],
    ['with a signature of another form', text, 'v1=00'],
    ['signed with a key that is not of the ring', text, signCallback(stranger, text, new Date())],
    ['signed with our key for another purpose', text, signedAs('cursor', otherPurpose)],
    ['signed more than five minutes ago', text, signCallback(KEYRING, text, secondsAgo(310))],
    ['signed in the future', text, signCallback(KEYRING, text, secondsAgo(-310))],
    [
      'with another body than the signed one',
      text.replace('transfer', 'transfers'),
      signCallback(KEYRING, text, new Date()),
    ],
    ['cut short', text.slice(0, -1), signCallback(KEYRING, text, new Date())],
    ['with one byte more', `${text} `, signCallback(KEYRING, text, new Date())],
  ])('%s', (_name, body, header) => {
    expect(() => parse(body, header)).toThrow(RailCallbackInvalidError);
  });

  test('with a signature that was moved to a later time', () => {
    const [, signature] = signCallback(KEYRING, text, secondsAgo(310)).split(',');
    expect(() => parse(text, `t=${Math.floor(Date.now() / 1_000)},${signature}`)).toThrow(RailCallbackInvalidError);
  });

  test.each([
    ['of a kind that this version does not know', { ...NEWS, type: 'balance_update' }],
    ['without a reference', { type: NEWS.type, contract: NEWS.contract }],
    ['without an organisation', { type: NEWS.type, reference: NEWS.reference }],
    ['about an amount that is no whole number', { ...CREDIT, amount: 10.5 }],
    ['about an amount in words', { ...CREDIT, amount: '5000' }],
  ])('%s, signed or not', (_name, body) => {
    expect(() => parse(body)).toThrow(RailCallbackInvalidError);
  });

  function signedAs(purpose: 'cursor', signed: string): string {
    return `t=${signed.split('.', 1)[0]},v1=${KEYRING.sign(purpose, signed).toString('hex')}`;
  }
});

test.each([
  [
    'openVirtualAccount',
    () =>
      rail.openVirtualAccount({ organisationId, reference: newReference(), accountName: 'Ada Obi', expiresAt: null }),
  ],
  ['closeVirtualAccount', () => rail.closeVirtualAccount({ organisationId, accountNumber: '6000000001' })],
  ['findInboundCredit', () => rail.findInboundCredit({ organisationId, sessionId: CREDIT.sessionId })],
  ['resolveAccount', () => rail.resolveAccount({ organisationId, accountNumber: '0123456789', bankCode: '058' })],
  ['sendTransfer', () => rail.sendTransfer(instruct(organisationId))],
  ['transferStatus', () => rail.transferStatus({ organisationId, reference: newReference() })],
])('%s says RailUnavailable while the bank cannot be reached: unknown, never refused', async (_name, ask) => {
  await expect(ask()).rejects.toBeInstanceOf(RailUnavailableError);
});
