// Money that a transfer holds for a wallet (contract, section 4.5): beside its balance until it is released, exactly
// once and never more than is held, or cancelled. Its flow, which releases it when it is due: the scenarios of `hold`.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { type Answer, startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { violationsOf } from '../support/violations.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ callersRetry: true });
});

afterAll(async () => {
  expect(await violationsOf(api.sql)).toEqual([]);
  await api.close();
});

const wallet = (balance = 0): Promise<string> => api.createWallet(api.test, balance > 0 ? { balance } : {});

const transfer = (source: string, destinationWalletId: string, hold: unknown, amount = 1_000) =>
  api.test.money(`/wallets/${source}/transfer`, { destinationWalletId, amount, hold });

/** A hold of ₦10.00 of a wallet with ₦50.00 for an empty one. */
async function held(hold: unknown = { release: 'manual' }) {
  const [source, destination] = [await wallet(5_000), await wallet()];
  const id = String((await transfer(source, destination, hold)).data.holdId);
  return { id, source, destination };
}

const release = (id: string, amount?: number) =>
  api.test.money(`/holds/${id}/release`, amount === undefined ? {} : { amount });
const cancel = (id: string) => api.test.money(`/holds/${id}/cancel`, {});

const read = async (id: string) => (await api.test.get(`/holds/${id}`)).data;
const balances = async (...wallets: string[]) => {
  const read = wallets.map(async (id) => {
    const { heldBalance } = (await api.test.get(`/wallets/${id}`)).data;
    return [await api.balanceOf(id), heldBalance];
  });
  return await Promise.all(read);
};

/** Expects this refusal, with these details among others. */
async function expectRefused(answer: Promise<Answer>, status: number, code: string, details: object): Promise<void> {
  expectError(await answer, status, code, expect.objectContaining(details));
}

const eventsOf = async (id: string) =>
  (
    await api.sql<{ type: string; sequence: number }[]>`
    SELECT type, sequence FROM events WHERE resource = ${id} ORDER BY sequence`
  ).map(({ type }) => type);

async function setStatus(walletId: string, status: 'active' | 'frozen' | 'closed') {
  const act = { proof: OWNER_PROOF, reason: 'test' };
  return await setWalletStatus(api.sql, api.organisation.organisationId, requireUuid('wallet', walletId), status, act);
}

describe('a hold', () => {
  test('is in heldBalance and not in balance until it is released, and each part is an entry of the statement', async () => {
    const { id, source, destination } = await held();
    expect(await balances(source, destination)).toEqual([
      [4_000, 0],
      [0, 1_000],
    ]);
    expect((await api.test.get(`/wallets/${destination}/transactions`)).items).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'held', amount: 1_000, amountHeld: 1_000, releaseAt: null });

    expect((await release(id, 300)).data).toMatchObject({ status: 'held', amountHeld: 700, amountReleased: 300 });
    expect((await release(id)).data).toMatchObject({ status: 'released', amountHeld: 0, amountReleased: 1_000 });
    expect(await balances(source, destination)).toEqual([
      [4_000, 0],
      [1_000, 0],
    ]);
    const { items } = await api.test.get(`/wallets/${destination}/transactions`);
    expect(items).toMatchObject([
      { kind: 'hold_release', resourceId: id, amount: 700, balanceAfter: 1_000, counterparty: { walletId: source } },
      { kind: 'hold_release', resourceId: id, amount: 300, balanceAfter: 300 },
    ]);
    expect(await eventsOf(id)).toEqual(['hold.created', 'hold.released', 'hold.released']);
  });

  test('that is cancelled goes back to the wallet that paid, also to a frozen one, without what was released', async () => {
    const { id, source, destination } = await held();
    await release(id, 300);
    await setStatus(source, 'frozen');
    expect((await cancel(id)).data).toMatchObject({ status: 'cancelled', amountReleased: 300, amountCancelled: 700 });
    expect(await balances(source, destination)).toEqual([
      [4_700, 0],
      [300, 0],
    ]);
    const { items } = await api.test.get(`/wallets/${source}/transactions?limit=1`);
    expect(items).toMatchObject([{ kind: 'hold_cancellation', amount: 700, counterparty: { walletId: destination } }]);
    expect(await eventsOf(id)).toEqual(['hold.created', 'hold.released', 'hold.cancelled']);
  });

  test('that has ended is neither released nor cancelled, and no more than is held is released', async () => {
    const { id } = await held();
    await expectRefused(release(id, 1_001), 422, 'HOLD_AMOUNT_EXCEEDED', { amountHeld: 1_000, attemptedAmount: 1_001 });
    await release(id);
    await expectRefused(release(id), 422, 'HOLD_ENDED', { status: 'released' });
    await expectRefused(cancel(id), 422, 'HOLD_ENDED', { status: 'released' });
  });

  test('of 50 releases at once is released once, and 50 parts at once are each released once', async () => {
    const [whole, parts] = [await held(), await held()];
    const answers = await Promise.all(Array.from({ length: 50 }, () => release(whole.id)));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 49 }, () => 422),
    ]);
    const ofParts = await Promise.all(Array.from({ length: 50 }, () => release(parts.id, 30)));
    expect(ofParts.filter(({ status }) => status === 200)).toHaveLength(33);
    expect(await read(parts.id)).toMatchObject({ amountReleased: 990, amountHeld: 10, status: 'held' });
    expect(await balances(whole.destination, parts.destination)).toEqual([
      [1_000, 0],
      [990, 10],
    ]);
  });

  test('is released once, and each part once, if two processes of the service are asked at once', async () => {
    await api.withAnother({}, async (other) => {
      for (let round = 0; round < 5; round += 1) {
        const [whole, parts] = [await held(), await held()];
        const clients = [api.test, other.client(api.test.key)];
        const answers = clients.flatMap((client) => [
          client.money(`/holds/${whole.id}/release`, {}),
          client.money(`/holds/${parts.id}/release`, { amount: 300 }),
        ]);
        const statuses = (await Promise.all(answers)).map(({ status }) => status);
        expect([
          [statuses[0] ?? 0, statuses[2] ?? 0].toSorted((one, other) => one - other),
          statuses[1],
          statuses[3],
        ]).toEqual([[200, 422], 200, 200]);
        expect(await balances(whole.destination, parts.destination)).toEqual([
          [1_000, 0],
          [600, 400],
        ]);
      }
    });
  });

  test('is released or cancelled, if both are requested at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, source, destination } = await held();
      const answers = await Promise.all([release(id, 400), cancel(id), release(id), cancel(id)]);
      expect(answers.filter(({ status }) => status !== 200 && status !== 422)).toEqual([]);
      const { amountHeld, amountReleased, amountCancelled } = await read(id);
      expect(Number(amountHeld) + Number(amountReleased) + Number(amountCancelled)).toBe(1_000);
      expect(amountHeld).toBe(0);
      expect(await balances(source, destination)).toEqual([
        [4_000 + Number(amountCancelled), 0],
        [Number(amountReleased), 0],
      ]);
    }
  });

  test('is not found by another organisation', async () => {
    const { id } = await held();
    const other = await api.createOrganisation();
    for (const answer of [
      other.test.get(`/holds/${id}`),
      other.test.money(`/holds/${id}/release`, {}),
      other.test.money(`/holds/${id}/cancel`, {}),
    ]) {
      await expectRefused(answer, 404, 'HOLD_NOT_FOUND', { id });
    }
    expect((await other.test.get('/holds')).items).toEqual([]);
  });

  test('is in the lists by status and by wallet', async () => {
    const { id, source, destination } = await held();
    expect((await api.test.get(`/holds?walletId=${destination}`)).items).toMatchObject([{ id }]);
    expect((await api.test.get(`/holds?walletId=${source}`)).items).toEqual([]);
    expect((await api.test.get('/holds?status=held&limit=1')).items).toMatchObject([{ id }]);
    await cancel(id);
    expect((await api.test.get(`/holds?walletId=${destination}&status=held`)).items).toEqual([]);
  });
});

describe('the request for a hold', () => {
  const YEAR_MS = 366 * 86_400_000;

  test.each([
    ['releaseAt in the past', { releaseAt: new Date(Date.now() - 1_000) }, 'hold.releaseAt', 'too_small'],
    ['releaseAt years away', { releaseAt: new Date(Date.now() + YEAR_MS + 60_000) }, 'hold.releaseAt', 'too_big'],
    ['neither', {}, 'hold', 'invalid_value'],
    ['both', { release: 'manual', releaseAt: new Date(Date.now() + 60_000) }, 'hold', 'invalid_value'],
    ['another release', { release: 'sometimes' }, 'hold.release', 'invalid_value'],
    ['an unknown field', { release: 'manual', until: 'later' }, 'hold.until', 'unrecognized_keys'],
  ])('with %s is refused, with the field', async (_what, hold, field, code) => {
    const answer = await transfer(await wallet(5_000), await wallet(), hold);
    expect(answer).toMatchObject({
      status: 400,
      error: { code: 'VALIDATION_FAILED', details: { fields: [{ field, code }] } },
    });
  });

  test('may name a time within a year, and the transfer names its hold', async () => {
    const releaseAt = new Date(Date.now() + YEAR_MS - 60_000).toISOString();
    const { data } = await transfer(await wallet(5_000), await wallet(), { releaseAt });
    expect(await read(String(data.holdId))).toMatchObject({ releaseAt, transferId: data.id });
    expect((await api.test.get(`/transfers/${data.id}`)).data).toMatchObject({ holdId: data.holdId });
  });

  test.each([
    ['frozen', 'WALLET_FROZEN'],
    ['closed', 'WALLET_CLOSED'],
  ] as const)('for a %s wallet is refused', async (status, code) => {
    const destination = await api.createWallet(api.test, { status });
    await expectRefused(transfer(await wallet(5_000), destination, { release: 'manual' }), 422, code, {
      walletId: destination,
    });
  });

  test('for a wallet that may not receive so much is refused, and one that the payer cannot pay', async () => {
    const manual = { release: 'manual' };
    const settlement = api.organisation.settlementWalletId;
    await api.fund(api.organisation.organisationId, settlement, 10_000_000);
    await expectRefused(transfer(settlement, await wallet(), manual, 5_000_001), 422, 'WALLET_TIER1_LIMIT_EXCEEDED', {
      limit: 'transaction',
    });
    await expectRefused(transfer(await wallet(), await wallet(), manual), 422, 'WALLET_INSUFFICIENT_FUNDS', {});
    const unverified = await api.createWallet(api.test, { tier1: false });
    await expectRefused(transfer(await wallet(5_000), unverified, manual), 422, 'WALLET_KYC_REQUIRED', {});
  });
});

describe('a wallet', () => {
  test('with held money, or that may get it back, is not closed', async () => {
    const { id, source, destination } = await held();
    await api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: await wallet(), amount: 4_000 });
    const inFlight = { outcome: 'in_flight', inFlight: { holds: 1 } };
    expect([await setStatus(source, 'closed'), await setStatus(destination, 'closed')]).toEqual([inFlight, inFlight]);
    await cancel(id);
    expect(await setStatus(destination, 'closed')).toEqual({ outcome: 'changed' });
  });

  test('that is closed and paid by a hold at once is closed, or has the money', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [source, destination] = [await wallet(5_000), await wallet()];
      const [closed, answer] = await Promise.all([
        setStatus(destination, 'closed'),
        transfer(source, destination, { release: 'manual' }),
      ]);
      expect([closed.outcome, answer.status]).toEqual(
        closed.outcome === 'changed' ? ['changed', 422] : ['in_flight', 201],
      );
    }
  });

  test('that is frozen or full when a hold is released refuses, and the hold stays', async () => {
    const { id, destination } = await held();
    await setStatus(destination, 'frozen');
    await expectRefused(release(id), 422, 'WALLET_FROZEN', { walletId: destination });
    await setStatus(destination, 'active');
    await api.fund(api.organisation.organisationId, destination, 29_999_500);
    await expectRefused(release(id), 422, 'WALLET_TIER1_LIMIT_EXCEEDED', { limit: 'balance' });
    expect((await release(id, 500)).data).toMatchObject({ status: 'held', amountHeld: 500 });
    expect(await read(id)).toMatchObject({ status: 'held' });
  });

  test('over its limit takes nothing back: what was held is in review', async () => {
    const { id, source } = await held();
    await api.fund(api.organisation.organisationId, source, 29_997_000);
    expect((await cancel(id)).data).toMatchObject({ status: 'cancelled' });
    const cases =
      await api.sql`SELECT reason, amount, status FROM review_cases WHERE wallet_id = ${requireUuid('wallet', source)}`;
    expect([...cases]).toEqual([{ reason: 'over_limit', amount: 1_000, status: 'open' }]);
  });
});

test('verification finds an account beside a wallet that is not the sum of its open holds', async () => {
  const { id } = await held();
  const uuid = requireUuid('hold', id);
  const setReleased = (amount: number) => api.sql`UPDATE holds SET amount_released = ${amount} WHERE id = ${uuid}`;
  await setReleased(10);
  const findings = await violationsOf(api.sql);
  expect(findings.map(({ kind }) => kind).toSorted()).toEqual([
    'HELD_MISMATCH',
    'RESOURCE_MISMATCH',
    'RESOURCE_MISMATCH',
  ]);
  await setReleased(0);
});
