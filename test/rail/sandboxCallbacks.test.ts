// Verification of the sandbox rail's callbacks, and that an unreachable bank is an outage rather than a refusal.
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { connect } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { parseKeyring } from '../../src/keyring.ts';
import { RailCallbackInvalidError, RailUnavailableError } from '../../src/rail/errors.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { SandboxBank } from '../../src/rail/sandbox/bank.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import { accountRequest, CAPABILITIES, instruct, KEYRING, newReference } from './sandbox.ts';

/** Nothing listens on port 1: neither the database nor a customer. */
const unreachable = connect('postgres://nobody@127.0.0.1:1/nothing', { connectionsMax: 1 });
const bank = new SandboxBank({
  sql: unreachable,
  keyring: KEYRING,
  log: pino({ level: 'silent' }),
  callbackUrl: 'http://127.0.0.1:1/',
  delayMs: 0,
  capabilities: CAPABILITIES,
});
const rail = createSandboxRail(bank, KEYRING);
const organisationId = newUuid();

const UPDATE = { type: 'transfer_update', contract: organisationId, reference: newReference() };
const CREDIT = {
  type: 'inbound_credit',
  contract: organisationId,
  sessionId: '000999260101120000000000000001',
  accountNumber: '6000000001',
  accountReference: null,
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
  return rail.parseCallback({ organisationId, headers, body: Buffer.from(text) });
}

describe('accepted callbacks', () => {
  test('a transfer update has the organisation and the reference, and no outcome', () => {
    expect(parse(UPDATE)).toEqual([{ kind: 'transfer_update', reference: UPDATE.reference }]);
  });

  test('an inbound credit has all its details', () => {
    const { sessionId, accountNumber, accountReference, amount, receivedAt } = CREDIT;
    const { senderName, senderAccountNumber, senderBankCode } = CREDIT;
    const hint = { accountNumber, accountReference, amount, receivedAt: new Date(receivedAt) };
    const sender = { senderName, senderAccountNumber, senderBankCode };
    expect(parse(CREDIT)).toEqual([{ kind: 'inbound_credit', sessionId, hint, sender }]);
  });

  test('a callback signed with an older key of the ring is accepted', () => {
    const older = parseKeyring(`old:${Buffer.alloc(32, 2).toString('base64url')}`);
    const ring = parseKeyring(
      `new:${Buffer.alloc(32, 1).toString('base64url')},old:${Buffer.alloc(32, 2).toString('base64url')}`,
    );
    const text = JSON.stringify(UPDATE);
    const headers = { [SIGNATURE_HEADER]: signCallback(older, text, new Date()) };
    const request = { organisationId, headers, body: Buffer.from(text) };
    expect(createSandboxRail(bank, ring).parseCallback(request)).toMatchObject([{ reference: UPDATE.reference }]);
  });
});

describe('rejected callbacks', () => {
  const text = JSON.stringify(UPDATE);
  const unknownRing = parseKeyring(`new:${Buffer.alloc(32, 9).toString('base64url')}`);
  const otherPurpose = `${Math.floor(Date.now() / 1_000)}.${text}`;

  test.each([
    ['without a signature', text, ''],
    ['with a signature of another form', text, 'v1=00'],
    ['signed with a key that is not in the ring', text, signCallback(unknownRing, text, new Date())],
    ['signed with our key for another purpose', text, signedAs('cursor', otherPurpose)],
    ['signed more than five minutes ago', text, signCallback(KEYRING, text, secondsAgo(310))],
    ['signed in the future', text, signCallback(KEYRING, text, secondsAgo(-310))],
    [
      'with another body than the signed one',
      text.replace('transfer', 'transfers'),
      signCallback(KEYRING, text, new Date()),
    ],
    ['truncated', text.slice(0, -1), signCallback(KEYRING, text, new Date())],
    ['with an additional byte', `${text} `, signCallback(KEYRING, text, new Date())],
  ])('a callback is rejected %s', (_name, body, header) => {
    expect(() => parse(body, header)).toThrow(RailCallbackInvalidError);
  });

  test('a callback whose signature is paired with a later timestamp is rejected', () => {
    const [, signature] = signCallback(KEYRING, text, secondsAgo(310)).split(',');
    expect(() => parse(text, `t=${Math.floor(Date.now() / 1_000)},${signature}`)).toThrow(RailCallbackInvalidError);
  });

  test.each([
    ['of an unknown kind', { ...UPDATE, type: 'balance_update' }],
    ['without a reference', { type: UPDATE.type, contract: UPDATE.contract }],
    ['without an organisation', { type: UPDATE.type, reference: UPDATE.reference }],
    ['with a fractional amount', { ...CREDIT, amount: 10.5 }],
    ['with a string as the amount', { ...CREDIT, amount: '5000' }],
    ['of another organisation', { ...UPDATE, contract: newUuid() }],
  ])('a signed callback %s is rejected', (_name, body) => {
    expect(() => parse(body)).toThrow(RailCallbackInvalidError);
  });

  function signedAs(purpose: 'cursor', signed: string): string {
    return `t=${signed.split('.', 1)[0]},v1=${KEYRING.sign(purpose, signed).toString('hex')}`;
  }
});

test.each([
  ['openVirtualAccount', () => rail.openVirtualAccount(accountRequest(organisationId))],
  [
    'closeVirtualAccount',
    () =>
      rail.closeVirtualAccount({
        organisationId,
        kind: 'permanent',
        reference: newReference(),
        accountNumber: '6000000001',
      }),
  ],
  [
    'findInboundCredit',
    () => rail.findInboundCredit({ organisationId, sessionId: CREDIT.sessionId, accountReference: null }),
  ],
  ['resolveAccount', () => rail.resolveAccount({ organisationId, accountNumber: '0123456789', bankCode: '058' })],
  ['sendTransfer', () => rail.sendTransfer(instruct(organisationId))],
  ['transferStatus', () => rail.transferStatus({ organisationId, reference: newReference() })],
])('%s throws RailUnavailableError while the bank is unreachable, never a refusal', async (_name, callRail) => {
  await expect(callRail()).rejects.toBeInstanceOf(RailUnavailableError);
});
