// A rail with other capabilities than the sandbox bank: what the API bounds and reports, which identity it gives away,
// how a credit finds its account, and which accounts of the books its money is on.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createCreditPollingActivities } from '../../src/activities/creditPolling.ts';
import { queryCredit } from '../../src/activities/credits.ts';
import { createBankTransferActivities } from '../../src/activities/moneyActivities.ts';
import { createReconciliationActivities } from '../../src/activities/reconciliation.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { RailNotReadyError } from '../../src/rail/errors.ts';
import type {
  AccountRequest,
  BankRail,
  InboundCreditRecord,
  RailCallback,
  StatementLine,
} from '../../src/rail/port.ts';
import { confirmedBy } from '../../src/resources/inboundCredits/confirm.ts';
import { findCreditOfSession, type InboundCredit } from '../../src/resources/inboundCredits/queries.ts';
import { receiveCredit } from '../../src/resources/inboundCredits/receive.ts';
import { findProviderMessage } from '../../src/resources/rails/providerMessages.ts';
import { startTestApi, type TestApi, type TestOrganisation } from '../support/api.ts';
import { LATER_BANK, withLaterBank } from '../support/laterBank.ts';
import { removeProviders } from '../support/providers.ts';
import { newCredit } from '../support/rows.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { violationsOf } from '../support/violations.ts';

const BVN = '22345678901';
const KYC = {
  bvn: BVN,
  dateOfBirth: '1990-05-17',
  gender: 'female',
  phone: '+2348012345678',
  addressLine1: '1 Marina',
  city: 'Lagos',
  state: 'Lagos',
};

let api: TestApi;
const requests: AccountRequest[] = [];
let lines: StatementLine[] = [];
let found: InboundCreditRecord | null = null;
/** Whether the contract has an identity for the wallets of the organisation itself. */
let hasOwnIdentity = true;
/** What the next callback reports. */
let reported: RailCallback[] = [];
/** References that were sent to the rail. */
const sent: string[] = [];

beforeAll(async () => {
  const change = (bank: BankRail): Partial<BankRail> => ({
    openVirtualAccount: async (request) => {
      requests.push(request);
      if (request.kind === 'permanent' && request.holder.bvn === null && !hasOwnIdentity) {
        throw new RailNotReadyError('feature_off', 'the contract has no identity');
      }
      return await bank.openVirtualAccount(request);
    },
    parseCallback: () => reported,
    findInboundCredit: () => Promise.resolve(found),
    sendTransfer: ({ reference }) => {
      sent.push(reference);
      return Promise.resolve(reportOf(reference, 'processing'));
    },
    transferStatus: ({ reference }) => Promise.resolve(reportOf(reference, 'completed')),
    statement: ({ from, to }) =>
      Promise.resolve({ lines: lines.filter(({ at }) => at >= from && at < to), nextCursor: null, closingBalance: 1 }),
    balance: () => Promise.resolve(4_000),
    capabilities: { ...bank.capabilities, transfers: { ...bank.capabilities.transfers, balance: true } },
  });
  api = await startTestApi({ rails: (rails) => withLaterBank(rails, change) });
});

afterAll(async () => {
  const findings = await violationsOf(api.sql).finally(removeProviders);
  await api.close();
  expect(findings).toEqual([]);
});

const pay = async ({ test: client, settlementWalletId }: TestOrganisation, body: object = {}) =>
  await client.money('/payments', {
    method: 'bank_transfer',
    baseAmount: 200_000,
    targetWalletId: settlementWalletId,
    ...body,
  });

describe('payments', () => {
  test('accept only the exact amount, say so, and expire when the rail closes the number', async () => {
    const { status, data } = await pay(api.organisation, { expiresIn: 3_600 });
    expect([status, data.acceptsAmount]).toEqual([201, 'exact']);
    const seconds = (Date.parse(data.expiresAt as string) - Date.parse(data.createdAt as string)) / 1_000;
    expect(seconds).toBe(600);
    expect((await api.test.get(`/payments/${data.id}`)).data).toEqual(data);
    expect(requests.at(-1)).toMatchObject({ kind: 'one_off', amount: 202_000, holder: { bvn: null } });
  });

  test('below the minimum of the rail are 400, and nothing is opened', async () => {
    const before = requests.length;
    // With its fee of 1 %, at least 500, the minimum is just what the rail accepts, whatever was asked for.
    for (const baseAmount of [1, 49_999, 59_405]) {
      const { status, error } = await pay(api.organisation, { baseAmount });
      expect(status).toBe(400);
      expect(error.details.fields).toEqual([
        expect.objectContaining({ field: 'baseAmount', code: 'too_small', constraint: { minimum: 59_406 } }),
      ]);
    }
    expect(requests.length).toBe(before);
    expect((await pay(api.organisation, { baseAmount: 59_406 })).status).toBe(201);
  });
});

describe('account numbers of wallets', () => {
  test("the holder's BVN is given to the rail that needs it, and to no log", async () => {
    const walletId = (await api.test.post('/wallets', { email: 'ada@example.com', fullName: 'Ada Obi' })).data.id;
    expect((await api.test.post(`/wallets/${walletId}/kyc`, KYC)).status).toBe(200);
    expect(requests.at(-1)).toMatchObject({
      kind: 'permanent',
      reference: walletId,
      holder: { name: 'Ada Obi', email: 'ada@example.com', bvn: BVN },
    });
    expect((await api.test.get(`/wallets/${walletId}/deposit-account`)).status).toBe(200);
    expect(api.logged.join('')).not.toContain(BVN);
  });

  test('a settlement wallet has one if the contract has an identity for it; without one: 409, to payouts too', async () => {
    const { settlementWalletId } = api.organisation;
    const path = `/wallets/${settlementWalletId}/deposit-account`;
    const sourceWalletId = await api.createWallet(undefined, { balance: 103_000 });
    const payout = { sourceWalletId, items: [{ amount: 100_000, destinationWalletId: settlementWalletId }] };
    hasOwnIdentity = false;
    for (const { status, error } of [await api.test.get(path), await api.test.money('/payouts', payout)]) {
      expect([status, error.code]).toEqual([409, 'DEPOSIT_ACCOUNT_UNAVAILABLE']);
    }
    expect(await api.balanceOf(sourceWalletId)).toBe(103_000);
    hasOwnIdentity = true;
    expect((await api.test.money('/payouts', payout)).status).toBe(202);
    expect((await api.test.get(path)).status).toBe(200);
    expect(requests.at(-1)).toMatchObject({ kind: 'permanent', reference: settlementWalletId, holder: { bvn: null } });
  });
});

describe('credits', () => {
  const report = (more: Partial<InboundCreditRecord>): InboundCreditRecord => ({
    sessionId: `session-${Math.random()}`,
    accountReference: null,
    accountNumber: null,
    amount: 202_000,
    senderName: null,
    senderAccountNumber: null,
    senderBankCode: null,
    receivedAt: new Date(),
    recalledAt: null,
    ...more,
  });
  const receive = async (credit: InboundCreditRecord): Promise<Uuid | null> => {
    const { recalledAt: _recalledAt, ...fields } = credit;
    const { organisationId } = api.organisation;
    await receiveCredit(api.dependencies, { organisationId, environment: 'test' }, LATER_BANK, fields);
    const [row] = await api.sql<{ ownerId: Uuid | null }[]>`
      SELECT owner_id FROM inbound_credits WHERE session_id = ${credit.sessionId}`;
    return row?.ownerId ?? null;
  };

  test('of one large callback are all stored, beside notices that move no money', async () => {
    const { recalledAt: _recalledAt, ...first } = report({ accountNumber: '6999999991' });
    const paymentId = publicId('payment', newUuid());
    reported = [
      { kind: 'ignored', event: 'MANDATE_CREATED' },
      { kind: 'notice', notice: 'payment_rejected', reference: paymentId, providerMessage: 'UNDER_PAYMENT' },
      { kind: 'notice', notice: 'low_balance', reference: null },
      { kind: 'transfer_update', reference: 'not ours' },
      { kind: 'inbound_credit', sessionId: first.sessionId, hint: first, sender: first },
      { kind: 'inbound_credit', sessionId: `${first.sessionId}-2`, hint: first, sender: null },
    ];
    const path = `/rails/${LATER_BANK}/callbacks/${publicId('organisation', api.organisation.organisationId)}`;
    const call = async (bytes: number) =>
      (await api.client(null).call('POST', path, { body: JSON.stringify('x'.repeat(bytes)) })).status;
    expect(await call(1_000_000)).toBe(200);
    expect(await call(1_100_000)).toBe(400);
    const rows = await api.sql`
      SELECT FROM inbound_credits WHERE session_id IN (${first.sessionId}, ${`${first.sessionId}-2`})`;
    expect(rows.length).toBe(2);
    const { organisationId } = api.organisation;
    const expected = { message: 'payment_rejected: UNDER_PAYMENT' };
    expect(await findProviderMessage(api.sql, organisationId, paymentId)).toMatchObject(expected);
  });

  test('keep the sender that a callback names after the list did not, and no other than the first one', async () => {
    const { organisationId } = api.organisation;
    const book = { organisationId, environment: 'test' } as const;
    const { data } = await pay(api.organisation);
    const { recalledAt: _recalledAt, ...record } = report({ accountReference: data.id });
    const unknown = { senderName: null, senderAccountNumber: null, senderBankCode: null };
    const sender = { senderName: 'CHIDI EZE', senderAccountNumber: '1111111111', senderBankCode: '058' };
    for (const reported of [unknown, sender, { ...sender, senderAccountNumber: '2222222222' }, unknown])
      await receiveCredit(api.dependencies, book, LATER_BANK, { ...record, ...reported });
    expect(await findCreditOfSession(api.sql, book, LATER_BANK, record.sessionId)).toMatchObject(sender);
  });

  test("keep the session id of the sender's bank, whichever report has it, and whichever comes first", async () => {
    const { organisationId } = api.organisation;
    const book = { organisationId, environment: 'test' } as const;
    const { data } = await pay(api.organisation);
    const stored = async (sessionId: string) =>
      (await findCreditOfSession(api.sql, book, LATER_BANK, sessionId)) as InboundCredit;
    for (const reports of [
      ['000013260101', null],
      [null, '000013260101'],
      [null, null, '000013260101', 'another'],
    ]) {
      const { recalledAt: _recalledAt, ...record } = report({ accountReference: data.id });
      for (const senderSessionId of reports) {
        await receiveCredit(api.dependencies, book, LATER_BANK, { ...record, senderSessionId });
      }
      const credit = await stored(record.sessionId);
      expect(credit.senderSessionId).toBe('000013260101');
      expect(await confirmedBy(api.sql, book, credit, { ...record, senderSessionId: null })).toMatchObject({
        senderSessionId: '000013260101',
      });
      const listed = (await api.test.get(`/payments/${data.id}/credits`)).items;
      expect(listed.find(({ sessionId }) => sessionId === record.sessionId)?.sender).toMatchObject({
        sessionId: '000013260101',
      });
    }
  });

  test('find their account by our reference, whatever number the rail reports or none', async () => {
    const { data } = await pay(api.organisation);
    const owner = requireUuid('payment', data.id);
    expect(await receive(report({ accountReference: data.id }))).toBe(owner);
    expect(await receive(report({ accountReference: data.id, accountNumber: '6999999999' }))).toBe(owner);
    expect(await receive(report({ accountReference: 'not ours', accountNumber: '6999999999' }))).toBeNull();
  });

  test('to a number that the rail handed on find the account that had it at their time', async () => {
    const [first, second] = [(await pay(api.organisation)).data, (await pay(api.organisation)).data];
    const [early, late] = [requireUuid('payment', first.id), requireUuid('payment', second.id)];
    const accountNumber = '6888888888';
    const hour = 3_600_000;
    const at = (hours: number): Date => new Date(Date.now() - hours * hour);
    for (const [owner, opened] of [
      [early, at(10)],
      [late, at(5)],
    ] as const) {
      await api.sql`
        UPDATE virtual_accounts SET account_number = ${accountNumber}, created_at = ${opened} WHERE owner_id = ${owner}`;
    }
    expect(await receive(report({ accountNumber, receivedAt: at(9) }))).toBe(early);
    expect(await receive(report({ accountNumber, receivedAt: at(4) }))).toBe(late);
    expect(await receive(report({ accountNumber, receivedAt: at(11) }))).toBeNull();
  });

  test('are posted with the account, amount, sender and time of the record, whatever was reported', async () => {
    const { data } = await pay(api.organisation);
    const { organisationId } = api.organisation;
    const book = { organisationId, environment: 'test' } as const;
    const stored = newCredit({ amount: 5, rail: LATER_BANK, senderName: 'Signed', senderAccountNumber: '0065432190' });
    const received = { accountReference: data.id, amount: 7, senderName: 'Recorded', receivedAt: new Date(0) };
    const owner = { ownerKind: 'payment', ownerId: requireUuid('payment', data.id), accountNumber: expect.anything() };
    for (const [record, expected] of [
      [report(received), { ...received, ...owner, senderAccountNumber: '0065432190' }],
      [report({ accountReference: 'not ours' }), { ownerKind: null, ownerId: null, accountNumber: null }],
      [report({}), { ownerKind: null, ownerId: null, accountReference: null }],
      [report({ recalledAt: new Date() }), { why: 'recalled' }],
    ] as const) {
      found = record;
      const answer = await queryCredit(api.dependencies, book, stored);
      found = null;
      expect('confirmed' in answer ? answer.confirmed : answer).toMatchObject(expected);
    }
  });
});

describe('payout items to wallets of the organisation, on a rail that charges for collections', () => {
  async function payOut(): Promise<{ itemId: string; payoutId: string; destination: string; source: string }> {
    const source = await api.createWallet(undefined, { balance: 100_000 });
    const destination = await api.createWallet();
    expect((await api.test.post(`/wallets/${destination}/kyc`, KYC)).status).toBe(200);
    const items = [{ amount: 100_000, destinationWalletId: destination }];
    const checked = (await api.test.post('/payouts/validate', { sourceWalletId: source, items })).data;
    expect(checked).toMatchObject({ isValid: true, totalAmount: 100_000, totalFee: 0 });
    const { status, data } = await api.test.money('/payouts', { sourceWalletId: source, items });
    expect([status, data.totalFee]).toEqual([202, 0]);
    return { itemId: (data.items as { id: string }[])[0]?.id ?? '', payoutId: data.id, destination, source };
  }
  const send = async ({ itemId, source }: { itemId: string; source: string }) => {
    const { organisationId } = api.organisation;
    const scope = {
      organisationId,
      environment: 'test' as const,
      walletId: source,
      transferId: itemId,
      amount: 100_000,
    };
    return await createBankTransferActivities(api.dependencies).sendBankTransfer(scope);
  };

  test('are posted within the book, once', async () => {
    const made = await payOut();
    for (const _attempt of [1, 2]) expect(await send(made)).toMatchObject({ status: 'completed', rail: 'known' });
    expect(await Promise.all([api.balanceOf(made.source), api.balanceOf(made.destination)])).toEqual([0, 100_000]);
    expect(sent).toEqual([]);
    expect((await api.test.get(`/payouts/${made.payoutId}`)).data.status).toBe('completed');
    const [line] = (await api.test.get(`/wallets/${made.source}/transactions`)).items;
    expect(line).toMatchObject({ kind: 'payout_reserve_free', component: 'principal', payoutItemId: made.itemId });
  });

  test('cost a fee only where a bank carries them', async () => {
    const source = await api.createWallet(undefined, { balance: 300_000 });
    const destination = await api.createWallet();
    expect((await api.test.post(`/wallets/${destination}/kyc`, KYC)).status).toBe(200);
    const items = [
      { amount: 100_000, destinationWalletId: destination },
      { amount: 100_000, bankAccount: { accountNumber: '0123456789', bankCode: '058' } },
    ];
    const { data } = await api.test.money('/payouts', { sourceWalletId: source, items });
    expect((data.items as { fee: number }[]).map(({ fee }) => fee)).toEqual([0, 3_000]);
    const [fees] = (await api.test.get(`/wallets/${source}/transactions`)).items;
    expect(fees).toMatchObject({ kind: 'payout_reserve', component: 'fee', amount: 3_000 });
  });

  test('fail, with the money back, if the wallet cannot receive it', async () => {
    const made = await payOut();
    await api.setWalletStatus(made.destination, 'frozen');
    for (const _attempt of [1, 2]) expect(await send(made)).toMatchObject({ status: 'failed' });
    expect(await Promise.all([api.balanceOf(made.source), api.balanceOf(made.destination)])).toEqual([100_000, 0]);
  });
});

describe('the money of a rail with two balances', () => {
  test('is collected on clearing, settled to the float, paid from there, and charged where the rail charges it', async () => {
    const organisation = await api.createOrganisation();
    const { organisationId } = organisation;
    const walletId = await api.createWallet(organisation.test, { balance: 200_000 });
    const { data } = await organisation.test.money(`/wallets/${walletId}/withdraw`, {
      amount: 100_000,
      accountNumber: '0123456789',
      bankCode: '058',
    });
    const input = { organisationId, environment: 'test' as const, walletId, transferId: data.id, amount: 100_000 };
    const { checkBankTransfer } = createBankTransferActivities(api.dependencies);
    expect(await checkBankTransfer(input)).toMatchObject({ status: 'completed' });
    const at = new Date(Date.now() - 90_000);
    const line = (kind: StatementLine['kind'], reference: string, amount: number, charge = 0): StatementLine => ({
      kind,
      reference,
      amount,
      charge,
      at,
    });
    lines = [
      line('credit', 'not-ours', 7_000, 105),
      line('sent', data.id, 100_000, 2_000),
      line('settlement', 'settlement-1', 60_000),
      line('funding', 'top-up-1', 500_000),
      line('charge', 'monthly-1', 900),
      line('sent', publicId('railCheck', newUuid()), 4_037, 1_000),
      line('other_out', 'unknown-1', 33),
    ];
    const { reconcileBooks } = createReconciliationActivities(api.dependencies);
    const period = {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      to: new Date(Date.now() + 60_000).toISOString(),
    };
    for (const _run of [1, 2]) await new MockActivityEnvironment().run(reconcileBooks, period);
    lines = [];
    const balances = await api.sql<{ code: string; balance: number }[]>`
      SELECT a.code, sum(CASE WHEN p.debit_account_id = a.id THEN p.amount ELSE -p.amount END)::bigint AS balance
      FROM ledger.accounts a
      JOIN ledger.postings p ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
      WHERE a.organisation_id = ${organisationId} AND a.code ~ '^(clearing:laterbank|float|expense|own|settlement)'
      GROUP BY a.code ORDER BY a.code`;
    expect(Object.fromEntries(balances.map(({ code, balance }) => [code, balance]))).toEqual({
      'clearing:laterbank': -60_000 - 105,
      'expense:rail': 105 + 2_000 + 900 + 4_037 + 1_000,
      'float:laterbank': -100_000 - 2_000 + 60_000 + 500_000 - 900 - 4_037 - 1_000,
      'own:funds': -500_000,
    });
    const breaks = await api.sql`
      SELECT line, reference FROM reconciliation_breaks WHERE organisation_id = ${organisationId} ORDER BY reference`;
    expect([...breaks]).toEqual([
      { line: 'credit', reference: 'not-ours' },
      { line: 'other_out', reference: 'unknown-1' },
    ]);
  });

  test('is read with the credits, for `rail show` and the alert', async () => {
    const { organisationId } = await api.createOrganisation();
    await new MockActivityEnvironment().run(createCreditPollingActivities(api.dependencies).pollCredits, null);
    const rows = await api.sql`SELECT rail, available FROM rail_progress WHERE organisation_id = ${organisationId}`;
    expect([...rows]).toEqual([{ rail: LATER_BANK, available: 4_000 }]);
  });
});
