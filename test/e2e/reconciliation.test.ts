// Reconciliation with real servers: the sandbox bank's statement against the ledger. Complete flows leave no break;
// each kind of seeded break is reported once, with a review case that an operator closes, and no money is moved.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { listDays } from '../../src/reconciliation/dayProofs.ts';
import { dayOf } from '../../src/times.ts';
import { operate, runAs } from '../cli/run.ts';
import { startTestFlows } from '../support/flows.ts';
import { openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { asSuperuser } from '../support/stack.ts';
import { violationsOf } from '../support/violations.ts';
import { waitFor } from '../support/waitFor.ts';

const HOUR_MS = 3_600_000;

const flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
const context = await (await openScenarios(flows))();

afterAll(async () => {
  const findings = await violationsOf(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const hourAround = () => ({
  from: new Date(Date.now() - HOUR_MS).toISOString(),
  to: new Date(Date.now() + HOUR_MS).toISOString(),
});
const reconcile = () => flows.runMaintenance('reconciliation', hourAround());

interface CaseRow {
  id: string;
  uuid: string;
  kind: string;
  status: string;
  amount: number;
}

/** The review cases of breaks, ordered by kind of break. */
const casesOfBreaks = async (): Promise<CaseRow[]> => {
  const rows = await flows.sql<Omit<CaseRow, 'id'>[]>`
    SELECT c.id AS uuid, b.kind, c.status, c.amount FROM review_cases c JOIN reconciliation_breaks b USING (organisation_id, id)
    WHERE c.organisation_id = ${context.organisationId} ORDER BY b.kind`;
  return rows.map((row) => ({ ...row, id: publicId('reviewCase', row.uuid) }));
};

/** The case of the break of this kind; there is one per kind. */
const caseOf = async (kind: string): Promise<CaseRow> => {
  const found = (await casesOfBreaks()).find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`there is no case about ${kind}`);
  return found;
};

const decideOn = async (id: string, decision: object): Promise<string> => {
  const { outcome, message } = await flows.decide('resolveCase', id, decision);
  return `${outcome}: ${message}`;
};

const postings = () => flows.sql`SELECT count(*)::int AS number FROM ledger.postings`;
const eventCount = () => flows.sql`SELECT count(*)::int AS number FROM events`;

const breaksFound = async () => {
  const breaks = await flows.sql<{ kind: string; line: string; reference: string }[]>`
    SELECT kind, line, reference FROM reconciliation_breaks
    WHERE organisation_id = ${context.organisationId} AND cleared_at IS NULL`;
  return breaks.map(({ kind, line, reference }) => `${kind} ${line} ${reference}`).toSorted();
};

test('complete flows have no breaks, every seeded break is reported, and reconciliation posts nothing', async () => {
  // A payment funds a wallet; of its withdrawals one is paid, one is rejected, one is returned immediately and one
  // later.
  const wallet = await context.wallet('owner');
  const payment = await context.payment(wallet, 'bank_transfer');
  await context.credit(payment.virtualAccount.accountNumber, 1_000_000);
  await context.untilStatus(`/payments/${payment.id}`, 'settled');
  const withdraw = async (accountNumber: string, status: string) => {
    const body = { amount: 100_000, accountNumber, bankCode: '058' };
    const { id } = await context.money(`/wallets/${wallet}/withdraw`, body);
    await context.untilStatus(`/withdrawals/${id}`, status);
    return id;
  };
  const paid = await withdraw('0123456789', 'completed');
  await withdraw('9999999001', 'failed');
  await withdraw('9999999002', 'returned');
  const late = await withdraw('0123456788', 'completed');
  await context.endTransfer(late, 'return');
  await context.untilStatus(`/withdrawals/${late}`, 'returned');
  expect(await reconcile()).toMatchObject({ breaks: 0 });
  expect(await breaksFound()).toEqual([]);

  const { organisationId } = context;
  const refused = await withdraw('9999999001', 'failed');
  const addStatementLine = (reference: string, kind: 'sent' | 'returned', amount: number) => flows.sql`
    INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
    VALUES (${organisationId}, ${reference}, ${kind}, ${amount})`;
  await addStatementLine(paid, 'sent', 100_000);
  await addStatementLine(refused, 'sent', 100_000);
  await addStatementLine('nobodys_reference', 'sent', 5_000);
  await flows.sql`
    UPDATE sandbox_bank.statement_lines SET amount = amount - 1
    WHERE organisation_id = ${organisationId} AND reference = ${late} AND kind = 'returned'`;
  const [credit] = await flows.sql<{ sessionId: string }[]>`
    DELETE FROM sandbox_bank.credits WHERE organisation_id = ${organisationId} RETURNING session_id`;
  const before = await postings();
  const eventsBefore = await eventCount();
  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 5 });
  expect(await breaksFound()).toEqual(
    [
      `unmatched_ledger credit ${credit?.sessionId}`,
      `duplicate sent ${paid}`,
      `status sent ${refused}`,
      'unmatched_statement sent nobodys_reference',
      `amount returned ${late}`,
    ].toSorted(),
  );
  expect(await postings()).toEqual(before);
  // Breaks concern only the operator and the bank, so no event is emitted.
  expect(await eventCount()).toEqual(eventsBefore);
});

test('each break has one review case, however many runs find it, also concurrently', async () => {
  const cases = await casesOfBreaks();
  expect(cases.map(({ kind, status }) => `${kind} ${status}`)).toEqual(
    ['amount', 'duplicate', 'status', 'unmatched_ledger', 'unmatched_statement'].map((kind) => `${kind} open`),
  );
  expect(cases.find(({ kind }) => kind === 'unmatched_statement')?.amount).toBe(5_000);
  const results = await Promise.all([reconcile(), reconcile(), reconcile()]);
  expect(results).toEqual(results.map(() => expect.objectContaining({ breaks: 5, opened: 0 })));
  expect(await casesOfBreaks()).toEqual(cases);
  await waitFor('each case to be found by Attention', async () => {
    const organisation = publicId('organisation', context.organisationId);
    const query = `Attention = 'reconciliation_break' AND WorkflowType = 'reviewCase' AND OrganisationId = '${organisation}'`;
    return (await flows.temporal.workflow.count(query)).count === cases.length;
  });
});

test('concurrent runs that find a new break open one case', async () => {
  await flows.sql`
    INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
    VALUES (${context.organisationId}, 'found_twice', 'returned', 700)`;
  const results = (await Promise.all([reconcile(), reconcile(), reconcile()])) as { opened: number }[];
  expect(results.reduce((sum, { opened }) => sum + opened, 0)).toBe(1);
  await flows.sql`DELETE FROM sandbox_bank.statement_lines WHERE reference = 'found_twice'`;
  expect(await casesOfBreaks()).toHaveLength(6);
});

test('a break has no money: it cannot be credited, returned or moved to unclaimed, neither by an update nor by SQL', async () => {
  const { id, uuid } = await caseOf('status');
  const before = await postings();
  for (const action of ['credit', 'return_to_sender', 'move_to_unclaimed']) {
    expect(await decideOn(id, { action, evidence: 'ticket 7' })).toMatch(/must be close.*holds no money/);
    const status = { credit: 'credited', return_to_sender: 'returning', move_to_unclaimed: 'unclaimed' }[action] ?? '';
    await expect(
      flows.sql`UPDATE review_cases SET status = ${status}, version = version + 1 WHERE id = ${uuid}`,
    ).rejects.toThrow(/"review_case_money/);
  }
  await expect(
    flows.sql`UPDATE review_cases SET account_code = 'suspense:unmatched' WHERE id = ${uuid}`,
  ).rejects.toThrow(/"review_case_money/);
  expect(await postings()).toEqual(before);
  expect((await caseOf('status')).status).toBe('open');
});

test('a run that no longer finds a break closes its case and says so, and one that finds it again opens it', async () => {
  const { id } = await caseOf('unmatched_statement');
  expect(await flows.detailsOf(id)).toMatch(/statement amount \| ₦50.00/);
  expect(await flows.detailsOf(id)).toMatch(/seen \| by the last run/);
  // The line disappears from the bank's statement and reappears later.
  const rename = (from: string, to: string) => flows.sql`
    UPDATE sandbox_bank.statement_lines SET reference = ${to}, organisation_id = ${to === 'off' ? newUuid() : context.organisationId}
    WHERE reference = ${from}`;
  await rename('nobodys_reference', 'off');
  expect(await reconcile()).toMatchObject({ breaks: 4 });
  expect(await flows.flow(id).result()).toEqual({ status: 'closed' });
  expect(await flows.detailsOf(id)).toMatch(/The reconciliation of \S+ no longer found the difference/);
  expect((await caseOf('unmatched_statement')).status).toBe('closed');

  await rename('off', 'nobodys_reference');
  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 0 });
  await waitFor('the details to show that the break has reopened', async () =>
    /seen \| by the last run/.test(await flows.detailsOf(id)),
  );
  expect((await caseOf('unmatched_statement')).status).toBe('open');
});

test('closing a break requires evidence, posts nothing, is audited, and no later run reopens it', async () => {
  const { id } = await caseOf('duplicate');
  const [before, eventsBefore] = [await postings(), await eventCount()];
  expect(await decideOn(id, { action: 'close' })).toMatch(/evidence must say/);
  expect(await decideOn(id, { action: 'close', evidence: 'ticket 7' })).toBe('done: The case is closed.');
  expect(await flows.flow(id).result()).toEqual({ status: 'closed' });
  expect([await postings(), await eventCount()]).toEqual([before, eventsBefore]);
  expect([
    ...(await flows.sql`SELECT operator, action, reason FROM audit_log WHERE subject = ${id} ORDER BY id`),
  ]).toEqual([{ operator: 'ngozi', action: 'review:close', reason: 'the bank was asked (ticket 7)' }]);
  // The report still lists the break.
  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 0 });
  expect((await caseOf('duplicate')).status).toBe('closed');
});

test('a credit whose callback is lost arrives by itself, and a charge of the bank is posted', async () => {
  const wallet = await context.wallet('poller');
  const payment = await context.payment(wallet, 'bank_transfer');
  const { accountNumber } = payment.virtualAccount;
  const { test: client } = context.organisation;
  const lost = await client.post('/simulations/inbound-credits', {
    accountNumber,
    amount: payment.payableAmount,
    sessionId: 'lost',
    callback: false,
  });
  const charged = await client.post('/simulations/statement-lines', { kind: 'charge', amount: 1_500 });
  expect([lost.status, charged.status]).toEqual([201, 201]);
  // As if it had come a minute ago: a younger callback may still be on its way.
  await flows.sql`UPDATE sandbox_bank.credits SET received_at = now() - interval '1 minute' WHERE session_id = 'lost'`;
  expect(await flows.runMaintenance('creditPolling')).toMatchObject({ recovered: 1, failed: 0 });
  await context.untilStatus(`/payments/${payment.id}`, 'settled');

  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 0 });
  expect([...(await flows.sql`SELECT key, kind FROM ledger.transactions WHERE resource LIKE '%_ste'`)]).toEqual([
    { key: `charge/sandbox/${String(charged.data.reference)}`, kind: 'rail_charge' },
  ]);
});

test('a credit that the bank took back before we heard of it is no break, and nothing of it is posted', async () => {
  const { accountNumber } = (await context.payment(await context.wallet('unheard'), 'bank_transfer')).virtualAccount;
  const { test: client } = context.organisation;
  const body = { accountNumber, amount: 70_000, sessionId: 'unheard', callback: false };
  const recalled = [
    await client.post('/simulations/inbound-credits', body),
    await client.post('/simulations/inbound-credits/unheard/recall'),
  ];
  expect(recalled.map(({ status }) => status)).toEqual([201, 200]);
  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 0 });
  await waitFor('the recall', async () => {
    const [row] = await flows.sql<{ status: string }[]>`
      SELECT status FROM inbound_credits WHERE session_id = 'unheard'`;
    return row?.status === 'recalled';
  });
  expect(await reconcile()).toMatchObject({ breaks: 5, opened: 0 });
  expect([...(await flows.sql`SELECT key FROM ledger.transactions WHERE key LIKE '%/unheard'`)]).toEqual([]);
});

test('the Schedule proves the days that have ended, and names those that wait', async () => {
  const yesterday = dayOf(new Date(Date.now() - 24 * HOUR_MS - 120_000)); // closed when it has been over for so long
  const { organisationId } = context;
  const book = { organisationId, environment: 'test' } as const;
  await asSuperuser(
    flows.databaseUrl,
    (sql) => sql`UPDATE ledger.accounts SET created_at = created_at - interval '1 day 2 minutes'`,
  );
  const [one] = await listDays(flows.sql, book, yesterday, yesterday);
  expect(one).toMatchObject({ rail: 'sandbox', bank: null, preparedBy: null });
  expect(await flows.runMaintenance('dayProof')).toMatchObject({ proved: 0, withoutStatement: expect.any(Number) });
  await flows.sql`
    INSERT INTO bank_balances (organisation_id, environment, rail, day, balance, reported_for, compared_at, in_flight)
    VALUES (${organisationId}, 'test', 'sandbox', ${yesterday}::date, 0, ledger.day_end(${yesterday}::date),
            ledger.day_end(${yesterday}::date), 0)`;
  expect(await flows.runMaintenance('dayProof')).toMatchObject({ proved: 1 });
  expect(await flows.runMaintenance('dayProof')).toMatchObject({ proved: 0 });
  expect(await listDays(flows.sql, book, yesterday, yesterday)).toMatchObject([{ bank: 0, preparedBy: 'worker' }]);
});

test('reconciliation run and show report breaks, and a run with breaks is found by Attention', async () => {
  const cli = (...words: string[]) => runAs(flows, 'ada', 'reconciliation', ...words);
  const reviews = (...words: string[]) => operate(flows, 'ada', 'reviews', ...words);
  const { from, to } = hourAround();
  expect(await cli('run', '--json', '--from', from, '--to', to)).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('"breaks": 5'),
  });
  const breaks = JSON.parse((await cli('show', '--json')).output) as { rail: string }[];
  expect(breaks.map(({ rail }) => rail)).toEqual(Array.from({ length: 5 }, () => 'sandbox'));
  expect((await cli('show')).output).toContain('nobodys_reference');
  const { id } = await caseOf('unmatched_statement');
  const organisation = ['--organisation', publicId('organisation', context.organisationId)];
  expect(await reviews('show', id, ...organisation)).toMatchObject({
    flow: 'reviewCase',
    attention: 'reconciliation_break',
    amount: 5_000,
    account: null,
    break: {
      kind: 'unmatched_statement',
      line: 'sent',
      reference: 'nobodys_reference',
      ledgerAmount: null,
      statementAmount: 5_000,
      clearedAt: null,
    },
  });
  const evidence = ['--reason', 'the bank booked it back', '--evidence', 'ticket 8'];
  expect(await reviews('resolve', id, '--action', 'close', ...evidence)).toMatchObject({ status: 'closed' });
  await waitFor('the run to be found', async () => {
    const { count } = await flows.temporal.workflow.count(`Attention = 'reconciliation_breaks'`);
    return count > 0;
  });
});

test('rail requery asks for the last 24 hours, unless a period is given', async () => {
  const { from, to } = (await operate(flows, 'ada', 'rail', 'requery')) as { from: string; to: string };
  expect(Date.parse(to) - Date.parse(from)).toBe(24 * HOUR_MS);
});

test('a statement in a file is compared and posted like that of a rail; a wrong file changes nothing', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'manilla-statement-'));
  const file = path.join(folder, 'statement.csv');
  const importFile = async (text: string) => {
    await writeFile(file, text);
    const words = ['import', file, '--rail', 'paper_bank', '--environment', 'test', '--json'];
    const organisation = ['--organisation', publicId('organisation', context.organisationId)];
    const { output, errors, exitCode } = await runAs(flows, 'ada', 'reconciliation', ...words, ...organisation);
    return { exitCode, answer: output === '' ? null : (JSON.parse(output) as object), errors };
  };
  const at = new Date(Date.now() - 2 * HOUR_MS).toISOString();
  const end = new Date(Date.now() - HOUR_MS).toISOString();
  const lastMonth = new Date(Date.now() - 31 * 24 * HOUR_MS).toISOString();
  // The bank has the same word for the charge of each month.
  const charges = [`charge,SMS,700,${lastMonth}`, `charge,SMS,700,${at}`];
  const rows = ['kind,reference,amount,at', ...charges, `closing_balance,,-1400,${end}`];
  const before = await postings();
  expect(await importFile([...rows, `credit,x,-1,${at}`].join('\n'))).toMatchObject({
    exitCode: 1,
    errors: expect.stringMatching(/line 5, column 3: amount must not be negative\. Nothing was imported\./),
  });
  expect(await postings()).toEqual(before);

  expect(await importFile(rows.join('\n'))).toMatchObject({ exitCode: 0, answer: { lines: 2, breaks: 0, opened: 0 } });
  expect(await importFile(rows.join('\n'))).toMatchObject({ exitCode: 0, answer: { lines: 2, breaks: 0 } });
  expect(await importFile([...rows, `sent,stranger,40,${at}`].join('\n'))).toMatchObject({
    exitCode: 1,
    answer: { breaks: 1, opened: 1 },
  });
  const keys = [lastMonth, at].map((time) => ({ key: `charge/paper_bank/${dayOf(new Date(time))}/SMS/700/1` }));
  expect(await flows.sql`SELECT key FROM ledger.transactions WHERE key LIKE '%/paper_bank/%' ORDER BY key`).toEqual(
    keys,
  );
  expect(await flows.sql`SELECT balance, in_flight FROM bank_balances WHERE rail = 'paper_bank'`).toEqual([
    { balance: -1_400, inFlight: 0 },
  ]);

  // A closing balance that the books do not explain is a break, and goes when it is explained.
  const wrong = rows.with(-1, `closing_balance,,-9400,${end}`).join('\n');
  expect(await importFile(wrong)).toMatchObject({ exitCode: 1, answer: { lines: 2, breaks: 1, opened: 1 } });
  expect(await importFile(rows.join('\n'))).toMatchObject({ exitCode: 0, answer: { breaks: 0 } });

  // Taxes of the bank go where the deployment says.
  const taxed = [...rows.slice(0, -1), `vat,SMS,52,${at}`, `stamp_duty,,5000,${at}`, `closing_balance,,-6452,${end}`];
  expect(await importFile(taxed.join('\n'))).toMatchObject({
    errors: expect.stringMatching(/line 4, column 1: kind must be/),
  });
  process.env.STATEMENT_LINE_ACCOUNTS = 'vat=receivable:vat,stamp_duty=expense:stamp_duty';
  for (const _run of [1, 2])
    expect(await importFile(taxed.join('\n'))).toMatchObject({ exitCode: 0, answer: { breaks: 0 } });
  expect(
    await flows.sql`
      SELECT a.code, p.amount FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.debit_account_id
      WHERE a.code IN ('receivable:vat', 'expense:stamp_duty') ORDER BY a.code`,
  ).toEqual([
    { code: 'expense:stamp_duty', amount: 5_000 },
    { code: 'receivable:vat', amount: 52 },
  ]);
  delete process.env.STATEMENT_LINE_ACCOUNTS;
  await rm(folder, { recursive: true });
});
