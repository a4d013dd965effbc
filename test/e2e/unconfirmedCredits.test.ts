// Credits that the rail reports and does not confirm when it is asked, and a rail that is away while a credit is confirmed or an
// account is closed: nothing else waits for them, an operator is asked for after the limit, and money is posted once or not at all.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId, type Uuid } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { findMissingFlows, restartFlow } from '../../src/outbox/missingFlows.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import type { PaymentResource, TestFlows } from '../support/flows.ts';
import { startTestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { UnsureRail } from '../support/unsureRail.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;
let openStage: () => Promise<ScenarioContext>;
const rail = new UnsureRail();

beforeAll(async () => {
  flows = await startTestFlows({
    settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: '1', ATTENTION_CREDIT_UNCONFIRMED_SECONDS: '1' },
    rails: (rails) => rail.within(rails),
  });
  openStage = await openScenarios(flows);
});

afterAll(async () => {
  await replayEverything(flows);
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const flowOf = (id: string) => flows.temporal.workflow.getHandle(id);

/** What a flow says of itself while it asks for an operator for this cause. */
const untilParked = (id: string, cause: string): Promise<string> =>
  waitFor(`${id} to be parked because of ${cause}`, async () => {
    const described = await flowOf(id)
      .describe()
      .catch(() => null); // not started yet
    if (described?.typedSearchAttributes.get(ATTENTION) !== cause) return undefined;
    return (await flowOf(id).query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;
  });

const untilFree = (id: string) =>
  waitFor(`${id} to ask for nobody any more`, async () => {
    const { typedSearchAttributes } = await flowOf(id).describe();
    return typedSearchAttributes.get(ATTENTION) === undefined;
  });

/** What is answered to a resolution, or the words of its refusal. */
const resolved = (id: string, action: string): Promise<string> => {
  const args: [object] = [{ action, reason: 'the bank was asked', operator: 'ngozi' }];
  return flowOf(id)
    .executeUpdate<{ outcome: string }, [object]>('resolve', { args })
    .then(
      ({ outcome }) => outcome,
      (error: Error & { cause?: Error }) => error.cause?.message ?? error.message,
    );
};

const decided = (id: string, decision: object): Promise<string> => {
  const args: [object] = [{ reason: 'the bank was asked', operator: 'ngozi', ...decision }];
  return flowOf(id)
    .executeUpdate<{ outcome: string; message: string }, [object]>('resolveCase', { args })
    .then(
      ({ outcome, message }) => `${outcome}: ${message}`,
      (error: Error & { cause?: Error }) => error.cause?.message ?? error.message,
    );
};

/** A credit about which the rail says this when it is asked. Its session id. */
async function reported(
  stage: ScenarioContext,
  accountNumber: string,
  amount: number,
  word: 'denied' | 'less' | 'away',
) {
  const sessionId = randomUUID();
  rail.say(sessionId, word);
  await credit(stage, accountNumber, amount, sessionId);
  return sessionId;
}

async function credit(stage: ScenarioContext, accountNumber: string, amount: number, sessionId: string = randomUUID()) {
  const body = { accountNumber, amount, sessionId };
  expect((await stage.organisation.test.post('/simulations/inbound-credits', body)).status).toBe(201);
}

async function rowOf(sessionId: string) {
  const [row] = await flows.sql<{ id: Uuid; status: string }[]>`
    SELECT id, status FROM inbound_credits WHERE session_id = ${sessionId}`;
  return row;
}

const untilCredit = (sessionId: string, ...statuses: string[]): Promise<string> =>
  waitFor(`the credit to be ${statuses.join(' or ')}`, async () => {
    const row = await rowOf(sessionId);
    return row !== undefined && statuses.includes(row.status) && publicId('inboundCredit', row.id);
  });

const untilAsked = (sessionId: string, times = 1) =>
  waitFor('the rail to be asked', () => rail.asksOf(sessionId) >= times);

const transactionsOf = async (sessionId: string): Promise<number> =>
  (await flows.sql`SELECT FROM ledger.transactions WHERE key = ${`credit/sandbox/${sessionId}`}`).length;

const casesOf = async ({ organisationId }: ScenarioContext): Promise<string[]> =>
  (
    await flows.sql<{ reason: string; status: string; amount: number; accountCode: string | null }[]>`
      SELECT reason, status, amount, account_code FROM review_cases
      WHERE organisation_id = ${organisationId} AND reason <> 'reconciliation_break' -- another test reconciles meanwhile
      ORDER BY created_at, id`
  ).map(({ reason, status, amount, accountCode }) => `${reason} ${status} ${amount} ${accountCode ?? 'nothing'}`);

const caseIdOf = ({ organisationId }: ScenarioContext, reason: string): Promise<string> =>
  waitFor(`a review case ${reason}`, async () => {
    const [row] = await flows.sql<{ id: Uuid }[]>`
      SELECT id FROM review_cases WHERE organisation_id = ${organisationId} AND reason = ${reason}`;
    return row && publicId('reviewCase', row.id);
  });

const eventsOf = async ({ organisationId }: ScenarioContext): Promise<string[]> =>
  (
    await flows.sql<{ type: string; data: { status?: string } }[]>`
      SELECT type, data FROM events WHERE organisation_id = ${organisationId} ORDER BY created_at, id`
  ).map(({ type, data }) => `${type} ${data.status}`);

/** A payment of ₦2,000 on a stage of its own; payable are 202,000 kobo. */
async function begin(): Promise<{
  stage: ScenarioContext;
  wallet: string;
  payment: PaymentResource;
  account: string;
  path: string;
}> {
  const stage = await openStage();
  const wallet = await stage.wallet('seller');
  const payment = await stage.payment(wallet, 'bank_transfer');
  return { stage, wallet, payment, account: payment.virtualAccount.accountNumber, path: `/payments/${payment.id}` };
}

describe('a payment one of whose credits the rail does not confirm', () => {
  test.concurrent('is settled by another credit; the first goes to review when it is confirmed after all', async () => {
    const { stage, wallet, payment, account, path } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    await untilAsked(denied);
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    expect(await flows.balanceOf(wallet)).toBe(200_000);
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['received', 0]);
    rail.say(denied, 'known');
    await untilCredit(denied, 'suspense');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    expect(await casesOf(stage)).toEqual(['credit_after_settlement open 50000 suspense:unmatched']);
    expect(await flows.balanceOf(wallet)).toBe(200_000);
  });

  test.concurrent('expires at the end of its window; the credit is late when it is confirmed after all', async () => {
    const stage = await openStage();
    await stage.shortenWindows(5_000);
    const payment = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
    const denied = await reported(stage, payment.virtualAccount.accountNumber, 202_000, 'denied');
    await untilAsked(denied);
    await stage.untilStatus(`/payments/${payment.id}`, 'expired');
    expect((await rowOf(denied))?.status).toBe('received');
    rail.say(denied, 'known');
    await untilCredit(denied, 'suspense');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'expired' });
    expect(await casesOf(stage)).toEqual(['late_credit open 202000 suspense:unmatched']);
  });

  test.concurrent('asks for an operator after the limit, names each such credit, and still takes other credits', async () => {
    const { stage, payment, account, path } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    const differs = await reported(stage, account, 60_000, 'less');
    await untilParked(payment.id, 'credit_unconfirmed');
    const ids = await Promise.all([untilCredit(denied, 'received'), untilCredit(differs, 'received')]);
    const details = await waitFor('both to be named', async () => {
      const text = await untilParked(payment.id, 'credit_unconfirmed');
      return ids.every((id) => text.includes(id)) && text;
    });
    expect(details).toMatch(
      /it does not know the credit; it reports another amount|it reports another amount.*; it does not know the credit/,
    );
    expect(details).toContain('| set_aside |');
    expect(await resolved(payment.id, 'complete')).toMatch(/one of retry, set_aside/);
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    await untilParked(payment.id, 'credit_unconfirmed');

    rail.say(denied, 'known');
    rail.say(differs, 'known');
    expect(await resolved(payment.id, 'retry')).toBe('accepted');
    await flowOf(payment.id).result();
    expect(await casesOf(stage)).toHaveLength(2);
    const acts = await flows.sql`SELECT action, operator FROM audit_log WHERE subject = ${payment.id}`;
    expect([...acts]).toEqual([{ action: 'resolve:retry', operator: 'ngozi' }]);
  });

  test.concurrent('is free again by itself when the rail confirms while an operator is asked for', async () => {
    const { stage, payment, account, path } = await begin();
    const denied = await reported(stage, account, 202_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await stage.untilStatus(path, 'settled');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    await untilFree(payment.id);
  });

  test.concurrent('that is retried in vain asks for an operator again', async () => {
    const { stage, payment, account, path } = await begin();
    const denied = await reported(stage, account, 202_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    const before = rail.asksOf(denied);
    await flowOf(payment.id).signal('retry', { reason: 'the bank is back', operator: 'ngozi' });
    await untilAsked(denied, before + 1);
    await untilParked(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await stage.untilStatus(path, 'settled');
  });
});

describe('a credit that is set aside', () => {
  test.concurrent('is posted nowhere, has a review case that holds no money, and is taken in once when it is confirmed', async () => {
    const { stage, wallet, payment, account, path } = await begin();
    const denied = await reported(stage, account, 202_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    expect(await resolved(payment.id, 'set_aside')).toBe('accepted');
    await untilCredit(denied, 'set_aside');
    expect(await casesOf(stage)).toEqual(['credit_unconfirmed open 202000 nothing']);
    expect(await eventsOf(stage)).toEqual(['review_case.opened open']);
    await untilFree(payment.id);
    expect(await stage.status(path)).toBe('pending'); // it still waits for money

    // The bank repeats its callback: the credit is known, and nothing happens.
    await credit(stage, account, 202_000, denied);
    const id = await caseIdOf(stage, 'credit_unconfirmed');
    await untilParked(id, 'review');
    expect(await decided(id, { action: 'retry' })).toMatch(/refused: The rail still does not confirm/);
    expect(await decided(id, { action: 'move_to_unclaimed' })).toMatch(/one of retry, close.*holds no money/);
    rail.say(denied, 'away');
    expect(await decided(id, { action: 'retry' })).toMatch(/refused: The rail does not respond/);
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['set_aside', 0]);

    rail.say(denied, 'known');
    expect(await decided(id, { action: 'retry' })).toBe('done: The case is closed.');
    await stage.untilStatus(path, 'settled');
    expect(await flowOf(id).result()).toEqual({ status: 'closed' });
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['posted', 1]);
    expect(await flows.balanceOf(wallet)).toBe(200_000);
    expect(await casesOf(stage)).toEqual(['credit_unconfirmed closed 202000 nothing']);
    expect((await stage.organisation.test.get(`${path}/credits`)).items).toMatchObject([
      { status: 'posted', reviewCaseId: null },
    ]);
    expect(await eventsOf(stage)).toEqual([
      'review_case.opened open',
      'review_case.resolved closed',
      'payment.settled settled',
    ]);
  });

  test.concurrent('goes to review as a late credit when it is confirmed after its payment has ended', async () => {
    const { stage, payment, account, path } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    await resolved(payment.id, 'set_aside');
    await untilCredit(denied, 'set_aside');
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    await flowOf(payment.id).result();
    const id = await caseIdOf(stage, 'credit_unconfirmed');
    await untilParked(id, 'review');
    rail.say(denied, 'known');
    expect(await decided(id, { action: 'retry' })).toMatch(/^done/);
    await untilCredit(denied, 'suspense');
    expect(await casesOf(stage)).toEqual([
      'credit_unconfirmed closed 50000 nothing',
      'credit_after_settlement open 50000 suspense:unmatched',
    ]);
    const { items } = await stage.organisation.test.get(`${path}/credits`);
    expect(items.map((one) => [one.amount, one.status, one.reviewReason])).toEqual([
      [202_000, 'posted', null],
      [50_000, 'in_review', 'credit_after_settlement'],
    ]);
  });

  test.concurrent('is settled by hand with evidence, and is a break when the statement lists it', async () => {
    const { stage, payment, account } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    await resolved(payment.id, 'set_aside');
    await untilCredit(denied, 'set_aside');
    const id = await caseIdOf(stage, 'credit_unconfirmed');
    await untilParked(id, 'review');
    expect(await decided(id, { action: 'close' })).toMatch(/evidence must say/);
    expect(await decided(id, { action: 'close', evidence: 'ticket 7' })).toBe('done: The case is closed.');
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['set_aside', 0]);

    const now = Date.now();
    const period = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 60_000).toISOString() };
    await flows.temporal.workflow.execute('reconciliation', {
      taskQueue: flows.services.config.temporal.taskQueue,
      workflowId: `reconciliation-${randomUUID()}`,
      args: [period],
    });
    const breaks = await flows.sql`
      SELECT kind, line, ledger_amount, statement_amount FROM reconciliation_breaks WHERE reference = ${denied}`;
    expect([...breaks]).toEqual([{ kind: 'status', line: 'credit', ledgerAmount: null, statementAmount: 50_000 }]);
  });

  test.concurrent('holds no money, whatever the code thinks', async () => {
    const { stage, payment, account } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    await untilParked(payment.id, 'credit_unconfirmed');
    await resolved(payment.id, 'set_aside');
    await untilCredit(denied, 'set_aside');
    for (const change of [`account_code = 'suspense:unmatched'`, `status = 'credited'`]) {
      const update = `UPDATE review_cases SET ${change} WHERE organisation_id = $1`;
      await expect(flows.sql.unsafe(update, [stage.organisationId])).rejects.toMatchObject({
        constraint_name: 'review_case_money',
      });
    }
  });
});

describe('a deposit that the rail does not confirm', () => {
  async function deposit(word: 'denied' | 'away') {
    const stage = await openStage();
    const wallet = await stage.wallet('owner');
    const { data } = await stage.organisation.test.get(`/wallets/${wallet}/deposit-account`);
    const sessionId = await reported(stage, String(data.accountNumber), 70_000, word);
    return { stage, wallet, sessionId, id: await untilCredit(sessionId, 'received') };
  }

  test.concurrent('asks for an operator, and is posted when it is retried and confirmed', async () => {
    const { wallet, sessionId, id } = await deposit('denied');
    expect(await untilParked(id, 'credit_unconfirmed')).toContain(`credit ${id} of 70000 kobo`);
    rail.say(sessionId, 'known');
    await resolved(id, 'retry'); // or it was confirmed by itself meanwhile
    expect(await flowOf(id).result()).toEqual({ status: 'posted' });
    expect(await flows.balanceOf(wallet)).toBe(70_000);
  });

  test.concurrent('is set aside, and credited once when it is confirmed after all', async () => {
    const { stage, wallet, sessionId, id } = await deposit('denied');
    await untilParked(id, 'credit_unconfirmed');
    expect(await resolved(id, 'set_aside')).toBe('accepted');
    expect(await flowOf(id).result()).toEqual({ status: 'set_aside' });
    const caseId = await caseIdOf(stage, 'credit_unconfirmed');
    await untilParked(caseId, 'review');
    rail.say(sessionId, 'known');
    expect(await decided(caseId, { action: 'retry' })).toMatch(/^done/);
    await untilCredit(sessionId, 'posted');
    expect([await flows.balanceOf(wallet), await transactionsOf(sessionId)]).toEqual([70_000, 1]);
  });

  test.concurrent('while the rail is away asks for an operator, who can only have it asked again', async () => {
    const { wallet, sessionId, id } = await deposit('away');
    await untilParked(id, 'rail_unreachable');
    expect(await resolved(id, 'set_aside')).toMatch(/one of retry:/);
    rail.say(sessionId, 'known');
    await resolved(id, 'retry');
    expect(await flowOf(id).result()).toEqual({ status: 'posted' });
    expect(await flows.balanceOf(wallet)).toBe(70_000);
  });
});

describe('a rail that is away', () => {
  test.concurrent('while a credit is confirmed holds up no other, and parks the flow until it answers', async () => {
    const { stage, wallet, payment, account, path } = await begin();
    const away = await reported(stage, account, 50_000, 'away');
    await untilParked(payment.id, 'rail_unreachable');
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    rail.say(away, 'known');
    await untilCredit(away, 'suspense');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    await untilFree(payment.id);
    expect(await flows.balanceOf(wallet)).toBe(200_000);
  });

  test.concurrent('while the account of a settled payment is closed: settled at once, and closed when it answers', async () => {
    const { stage, payment, account, path } = await begin();
    rail.canClose(account, false);
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    expect(await untilParked(payment.id, 'rail_unreachable')).toContain(`the account number of ${payment.id}`);
    expect(await eventsOf(stage)).toEqual(['payment.settled settled']);
    rail.canClose(account, true);
    await resolved(payment.id, 'retry'); // or it was closed by itself meanwhile
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    const [row] = await flows.sql<{ closed: boolean }[]>`
      SELECT closed_at IS NOT NULL AS closed FROM sandbox_bank.accounts WHERE account_number = ${account}`;
    expect(row?.closed).toBe(true);
  });

  test.concurrent('while the account is closed: an operator leaves it open, and money that comes to it goes to review', async () => {
    const { stage, payment, account, path } = await begin();
    rail.canClose(account, false);
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    await untilParked(payment.id, 'rail_unreachable');
    expect(await resolved(payment.id, 'set_aside')).toMatch(/one of retry, dismiss/);
    expect(await resolved(payment.id, 'dismiss')).toBe('accepted');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
    rail.canClose(account, true);
    await credit(stage, account, 7_000);
    await caseIdOf(stage, 'credit_after_settlement');
  });
});

describe('a flow that waits for an unconfirmed credit', () => {
  const missing = async (paymentId: string) => {
    for await (const found of findMissingFlows({ sql: flows.sql, client: flows.temporal }, { ageMinMs: 0 })) {
      if (found.start.message.id === paymentId) return found;
    }
    return null;
  };

  test.concurrent('is not told of it again by the sweeper, and is started again after a termination', async () => {
    const { stage, payment, account, path } = await begin();
    const denied = await reported(stage, account, 50_000, 'denied');
    await untilAsked(denied, 2);
    await credit(stage, account, 202_000);
    await stage.untilStatus(path, 'settled');
    await untilParked(payment.id, 'credit_unconfirmed');
    expect(await missing(payment.id)).toBeNull();

    await flowOf(payment.id).terminate('by mistake');
    const found = await waitFor('the sweep to find it', () => missing(payment.id));
    await restartFlow(flows.services.journal, found);
    await untilParked(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await untilCredit(denied, 'suspense');
    expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
  });
});
