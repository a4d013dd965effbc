// Credits that the rail reports and then does not confirm, and a rail that is unreachable while a credit is confirmed
// or an account is closed: nothing else is blocked, the flow parks after the limit, and money is posted once or not at
// all.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { publicId, type Uuid } from '../../src/ids.ts';
import { findMissingFlows, restartFlow } from '../../src/recovery/missingFlows.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { withCode } from '../support/operators.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { UnsureRail } from '../support/unsureRail.ts';
import { waitFor } from '../support/waitFor.ts';

let openContext: () => Promise<ScenarioContext>;
const rail = new UnsureRail();

const flows = await startTestFlows({
  settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: '1', creditUnconfirmedMs: 1_000 },
  rails: (rails) => rail.within(rails),
});
openContext = await openScenarios(flows);

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const untilFree = (id: string) =>
  waitFor(`${id} to have no attention cause`, async () => {
    const { typedSearchAttributes } = await flows.flow(id).describe();
    return typedSearchAttributes.get(ATTENTION) === undefined;
  });

/** The outcome of a resolution, or the message of its refusal. */
const resolveFlow = async (id: string, action: string): Promise<string> => {
  const { outcome, message } = await flows.decide('resolve', id, { action });
  return outcome === 'rejected' ? message : outcome;
};

const decideCase = async (id: string, decision: object): Promise<string> => {
  const { outcome, message } = await flows.decide('resolveCase', id, decision);
  return `${outcome}: ${message}`;
};

/** Reports a credit whose confirmation by the rail has this result. Returns its session id. */
async function reportCredit(
  context: ScenarioContext,
  accountNumber: string,
  amount: number,
  confirmation: 'denied' | 'failed' | 'less' | 'away',
) {
  const sessionId = randomUUID();
  rail.say(sessionId, confirmation);
  await credit(context, accountNumber, amount, sessionId);
  return sessionId;
}

async function credit(
  context: ScenarioContext,
  accountNumber: string,
  amount: number,
  sessionId: string = randomUUID(),
) {
  const body = { accountNumber, amount, sessionId };
  expect((await context.organisation.test.post('/simulations/inbound-credits', body)).status).toBe(201);
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

const untilConfirmationRequested = (sessionId: string, times = 1) =>
  waitFor('the rail to be asked for confirmation', () => rail.asksOf(sessionId) >= times);

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

/** A payment of ₦2,000 in its own organisation; the payable amount is 202,000 kobo. */
async function createPayment() {
  const context = await openContext();
  const wallet = await context.wallet('seller');
  const payment = await context.payment(wallet, 'bank_transfer');
  return { context, wallet, payment, account: payment.virtualAccount.accountNumber, path: `/payments/${payment.id}` };
}

/** A payment with an unconfirmed credit that an operator has set aside. */
async function setAside(amount: number) {
  const made = await createPayment();
  const denied = await reportCredit(made.context, made.account, amount, 'denied');
  await flows.untilAttention(made.payment.id, 'credit_unconfirmed');
  expect(await resolveFlow(made.payment.id, 'set_aside')).toBe('accepted');
  await untilCredit(denied, 'set_aside');
  return { ...made, denied };
}

describe('payments with an unconfirmed credit', () => {
  test.concurrent('a payment with an unconfirmed credit expires at the end of its window, and the credit is late when it is confirmed', async () => {
    const context = await openContext();
    context.shortenWindows(5_000);
    const payment = await context.payment(await context.wallet('seller'), 'bank_transfer');
    const denied = await reportCredit(context, payment.virtualAccount.accountNumber, 202_000, 'denied');
    await untilConfirmationRequested(denied);
    await context.untilStatus(`/payments/${payment.id}`, 'expired');
    expect((await rowOf(denied))?.status).toBe('received');
    rail.say(denied, 'known');
    await untilCredit(denied, 'suspense');
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'expired' });
    expect(await casesOf(context)).toEqual(['late_credit open 202000 suspense:unmatched']);
  });

  test.concurrent('a payment flow parks after the limit, names each unconfirmed credit, and still accepts other credits', async () => {
    const { context, payment, account, path } = await createPayment();
    const denied = await reportCredit(context, account, 50_000, 'denied');
    const failed = await reportCredit(context, account, 60_000, 'failed');
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    const ids = await Promise.all([untilCredit(denied, 'received'), untilCredit(failed, 'received')]);
    const details = await waitFor('both credits to be listed', async () => {
      const text = await flows.untilAttention(payment.id, 'credit_unconfirmed');
      return ids.every((id) => text.includes(id)) && text;
    });
    expect(details).toMatch(
      /it does not know the credit.*it says that the credit|it says that the credit.*it does not know the credit/s,
    );
    expect(details).toContain('| set_aside |');
    expect(await resolveFlow(payment.id, 'complete')).toMatch(/one of retry, set_aside/);
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    await flows.untilAttention(payment.id, 'credit_unconfirmed');

    rail.say(denied, 'known');
    rail.say(failed, 'known');
    expect(await resolveFlow(payment.id, 'retry')).toBe('accepted');
    await flows.flow(payment.id).result();
    expect(await casesOf(context)).toHaveLength(2);
    expect(await flows.auditOf(payment.id)).toEqual(['ngozi resolve:retry']);
  });

  test.concurrent('a payment counts the amount of the record, not that of the callback', async () => {
    const { context, account, path } = await createPayment();
    const less = await reportCredit(context, account, 202_000, 'less');
    await untilCredit(less, 'posted');
    expect((await context.organisation.test.get(path)).data).toMatchObject({
      status: 'partial',
      amountReceived: 201_999,
    });
  });

  test.concurrent('a parked payment continues when the rail confirms the credit', async () => {
    const { context, payment, account, path } = await createPayment();
    const denied = await reportCredit(context, account, 202_000, 'denied');
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await context.untilStatus(path, 'settled');
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
    await untilFree(payment.id);
  });

  test.concurrent('a retry that is not confirmed parks the payment again', async () => {
    const { context, payment, account, path } = await createPayment();
    const denied = await reportCredit(context, account, 202_000, 'denied');
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    const before = rail.asksOf(denied);
    await flows
      .flow(payment.id)
      .signal('retry', await withCode(flows.sql, payment.id, { reason: 'the bank is back', operator: 'ngozi' }));
    await untilConfirmationRequested(denied, before + 1);
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await context.untilStatus(path, 'settled');
  });
});

describe('credits that are set aside', () => {
  test.concurrent('a credit set aside is not posted, has a review case without money, and is posted once when it is confirmed', async () => {
    const { context, wallet, payment, account, path, denied } = await setAside(202_000);
    expect(await casesOf(context)).toEqual(['credit_unconfirmed open 202000 nothing']);
    expect(await eventsOf(context)).toEqual(['review_case.opened open']);
    await untilFree(payment.id);
    expect(await context.status(path)).toBe('pending'); // it still waits for a credit

    // The bank repeats its callback: the credit is known, so nothing happens.
    await credit(context, account, 202_000, denied);
    const id = await caseIdOf(context, 'credit_unconfirmed');
    await flows.untilAttention(id, 'review');
    expect(await decideCase(id, { action: 'retry' })).toMatch(/refused: The rail still does not confirm/);
    expect(await decideCase(id, { action: 'move_to_unclaimed' })).toMatch(/one of retry, close.*holds no money/);
    rail.say(denied, 'away');
    expect(await decideCase(id, { action: 'retry' })).toMatch(/refused: The rail does not respond/);
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['set_aside', 0]);

    rail.say(denied, 'known');
    expect(await decideCase(id, { action: 'retry' })).toBe('done: The case is closed.');
    await context.untilStatus(path, 'settled');
    expect(await flows.flow(id).result()).toEqual({ status: 'closed' });
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['posted', 1]);
    expect(await flows.balanceOf(wallet)).toBe(200_000);
    expect(await casesOf(context)).toEqual(['credit_unconfirmed closed 202000 nothing']);
    expect((await context.organisation.test.get(`${path}/credits`)).items).toMatchObject([
      { status: 'posted', reviewCaseId: null },
    ]);
    expect(await eventsOf(context)).toEqual([
      'review_case.opened open',
      'review_case.resolved closed',
      'payment.settled settled',
      'payment.completed settled',
    ]);
  });

  test.concurrent('a credit set aside is received after all when the books of the bank have it', async () => {
    const { context, wallet, path, denied } = await setAside(202_000);
    rail.say(denied, 'known');
    const now = Date.now();
    const period = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 60_000).toISOString() };
    await flows.runMaintenance('reconciliation', period);
    await context.untilStatus(path, 'settled');
    expect(await flows.balanceOf(wallet)).toBe(200_000);
    expect(await casesOf(context)).toEqual(['credit_unconfirmed closed 202000 nothing']);
  });

  test.concurrent('a credit set aside and confirmed after its payment ended goes to review', async () => {
    const { context, payment, account, path, denied } = await setAside(50_000);
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    await flows.flow(payment.id).result();
    const id = await caseIdOf(context, 'credit_unconfirmed');
    await flows.untilAttention(id, 'review');
    rail.say(denied, 'known');
    expect(await decideCase(id, { action: 'retry' })).toMatch(/^done/);
    await untilCredit(denied, 'suspense');
    expect(await casesOf(context)).toEqual([
      'credit_unconfirmed closed 50000 nothing',
      'credit_after_settlement open 50000 suspense:unmatched',
    ]);
    const { items } = await context.organisation.test.get(`${path}/credits`);
    expect(items.map((one) => [one.amount, one.status, one.reviewReason])).toEqual([
      [202_000, 'posted', null],
      [50_000, 'in_review', 'credit_after_settlement'],
    ]);
  });

  test.concurrent('a credit set aside can be closed with evidence, and is a break when the statement lists it', async () => {
    const { context, denied } = await setAside(50_000);
    const id = await caseIdOf(context, 'credit_unconfirmed');
    await flows.untilAttention(id, 'review');
    expect(await decideCase(id, { action: 'close' })).toMatch(/evidence must say/);
    expect(await decideCase(id, { action: 'close', evidence: 'ticket 7' })).toBe('done: The case is closed.');
    expect([(await rowOf(denied))?.status, await transactionsOf(denied)]).toEqual(['set_aside', 0]);

    const now = Date.now();
    const period = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 60_000).toISOString() };
    await flows.runMaintenance('reconciliation', period);
    const breaks = await flows.sql`
      SELECT kind, line, ledger_amount, statement_amount FROM reconciliation_breaks WHERE reference = ${denied}`;
    expect([...breaks]).toEqual([{ kind: 'status', line: 'credit', ledgerAmount: null, statementAmount: 50_000 }]);
  });

  test.concurrent('the database rejects money in the review case of a credit set aside', async () => {
    const { context } = await setAside(50_000);
    for (const change of [`account_code = 'suspense:unmatched'`, `status = 'credited'`]) {
      const update = `UPDATE review_cases SET ${change} WHERE organisation_id = $1`;
      await expect(flows.sql.unsafe(update, [context.organisationId])).rejects.toMatchObject({
        constraint_name: 'review_case_money',
      });
    }
  });
});

describe('deposits that the rail does not confirm', () => {
  async function deposit(confirmation: 'denied' | 'away') {
    const context = await openContext();
    const wallet = await context.wallet('owner');
    const sessionId = await reportCredit(context, await context.depositAccount(wallet), 70_000, confirmation);
    return { context, wallet, sessionId, id: await untilCredit(sessionId, 'received') };
  }

  test.concurrent('an unconfirmed deposit parks, and a retry posts it when it is confirmed', async () => {
    const { wallet, sessionId, id } = await deposit('denied');
    expect(await flows.untilAttention(id, 'credit_unconfirmed')).toContain(`credit ${id} of ₦700.00`);
    rail.say(sessionId, 'known');
    await resolveFlow(id, 'retry'); // unless the flow has already confirmed it
    expect(await flows.flow(id).result()).toEqual({ status: 'posted' });
    expect(await flows.balanceOf(wallet)).toBe(70_000);
  });

  test.concurrent('a deposit during an outage of the rail parks, and an operator can only retry it', async () => {
    const { wallet, sessionId, id } = await deposit('away');
    await flows.untilAttention(id, 'rail_unreachable');
    expect(await resolveFlow(id, 'set_aside')).toMatch(/action must be retry:/);
    rail.say(sessionId, 'known');
    await resolveFlow(id, 'retry');
    expect(await flows.flow(id).result()).toEqual({ status: 'posted' });
    expect(await flows.balanceOf(wallet)).toBe(70_000);
  });
});

describe('outages of the rail', () => {
  test.concurrent('an outage during the confirmation of a credit parks the flow and blocks no other credit', async () => {
    const { context, wallet, payment, account, path } = await createPayment();
    const unconfirmed = await reportCredit(context, account, 50_000, 'away');
    await flows.untilAttention(payment.id, 'rail_unreachable');
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    rail.say(unconfirmed, 'known');
    await untilCredit(unconfirmed, 'suspense');
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
    await untilFree(payment.id);
    expect(await flows.balanceOf(wallet)).toBe(200_000);
  });

  test.concurrent('an outage during the closing of the account parks the settled payment until the rail responds', async () => {
    const { context, payment, account, path } = await createPayment();
    rail.canClose(account, false);
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    expect(await flows.untilAttention(payment.id, 'rail_unreachable')).toContain(`the account number of ${payment.id}`);
    expect(await eventsOf(context)).toEqual(['payment.settled settled', 'payment.completed settled']);
    rail.canClose(account, true);
    await resolveFlow(payment.id, 'retry'); // unless the flow has already closed it
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
    const [row] = await flows.sql<{ closed: boolean }[]>`
      SELECT closed_at IS NOT NULL AS closed FROM sandbox_bank.accounts WHERE account_number = ${account}`;
    expect(row?.closed).toBe(true);
  });

  test.concurrent("an operator can leave a payment's account open after an outage, and money credited to it goes to review", async () => {
    const { context, payment, account, path } = await createPayment();
    rail.canClose(account, false);
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    await flows.untilAttention(payment.id, 'rail_unreachable');
    expect(await resolveFlow(payment.id, 'set_aside')).toMatch(/one of retry, dismiss/);
    expect(await resolveFlow(payment.id, 'dismiss')).toBe('accepted');
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
    rail.canClose(account, true);
    await credit(context, account, 7_000);
    await caseIdOf(context, 'credit_after_settlement');
  });
});

describe('the sweeper and unconfirmed credits', () => {
  const missing = async (paymentId: string) => {
    for await (const found of findMissingFlows({ sql: flows.sql, client: flows.temporal }, { ageMinMs: 0 })) {
      if (found.start.message.id === paymentId) return found;
    }
    return null;
  };

  test.concurrent('the sweeper does not signal a flow about a known unconfirmed credit, and restarts it after a termination', async () => {
    const { context, payment, account, path } = await createPayment();
    const denied = await reportCredit(context, account, 50_000, 'denied');
    await untilConfirmationRequested(denied, 2);
    await credit(context, account, 202_000);
    await context.untilStatus(path, 'settled');
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    expect(await missing(payment.id)).toBeNull();

    await flows.flow(payment.id).terminate('by mistake');
    const found = await waitFor('the sweeper to find the flow', () => missing(payment.id));
    await restartFlow(flows.dependencies.sql, found);
    await flows.untilAttention(payment.id, 'credit_unconfirmed');
    rail.say(denied, 'known');
    await untilCredit(denied, 'suspense');
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
  });
});
