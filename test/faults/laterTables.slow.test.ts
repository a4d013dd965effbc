// A rolling deployment: the tables already have a column of the next release while the processes are still those of
// this release. Every money flow works.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RowTable } from '../../src/ledger/movement.ts';
import { openBreak } from '../../src/reconciliation/movements.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { sweepFees } from '../../src/resources/feeSweeps/sweep.ts';
import { postEntry } from '../../src/resources/statementEntries/movements.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { createDatabase, type TestDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const TABLES: Record<RowTable, true> = {
  payments: true,
  transfers: true,
  holds: true,
  withdrawals: true,
  refunds: true,
  payouts: true,
  payout_items: true,
  inbound_credits: true,
  review_cases: true,
  reconciliation_breaks: true,
  statement_entries: true,
  virtual_accounts: true,
  fee_sweeps: true,
  adjustments: true,
};

const FUNDS = 10_000_000;
const TO_BANK = { accountNumber: '0123456789', bankCode: '058' };

let database: TestDatabase;
let flows: TestFlows;

beforeAll(async () => {
  database = await createDatabase();
  flows = await startTestFlows({ databaseUrl: database.url, settings: { WORKER_ROLES: 'flows,payouts,relay' } });
  for (const table of Object.keys(TABLES)) {
    await flows.sql.unsafe(
      `ALTER TABLE ${table} ADD COLUMN added_later jsonb NOT NULL DEFAULT '{"by": "the next release"}'`,
    );
  }
});

afterAll(async () => {
  await flows.close();
  await database.drop();
});

test('a process of this release writes every table of the next one, and its new columns get their defaults', async () => {
  const [wallet, other] = [await flows.createWallet(undefined, { balance: FUNDS }), await flows.createWallet()];
  const payment = await flows.createPayment(wallet, 100_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  const refund = await flows.test.money(`/payments/${payment.id}/refund`, { bankAccount: TO_BANK });
  const withdrawal = await flows.test.money(`/wallets/${wallet}/withdraw`, { amount: 100_000, ...TO_BANK });
  const payout = await flows.test.money('/payouts', {
    sourceWalletId: wallet,
    items: [{ amount: 100_000, bankAccount: TO_BANK }],
  });
  const transfer = await flows.test.money(`/wallets/${wallet}/transfer`, { destinationWalletId: other, amount: 100 });
  const held = await flows.test.money(`/wallets/${wallet}/transfer`, {
    destinationWalletId: other,
    amount: 100,
    hold: { release: 'manual' },
  });
  expect([refund.status, withdrawal.status, payout.status, transfer.status, held.status]).toEqual([
    201, 201, 202, 201, 201,
  ]);
  await flows.untilStatus(`/refunds/${refund.data.id}`, 'completed');
  await flows.untilStatus(`/withdrawals/${withdrawal.data.id}`, 'completed');
  await flows.untilStatus(`/payouts/${payout.data.id}`, 'completed');
  await flows.credit('1234567890', 5_000);
  await waitFor('a review case', async () => (await flows.reviewCases()).length === 1);
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' } as const;
  const found = {
    kind: 'unmatched_statement',
    line: 'sent',
    reference: 'x',
    ledgerAmount: null,
    statementAmount: 1,
    at: new Date(),
    occurrence: 1,
  } as const;
  const { id: operatorId, proof } = OPERATORS.ngozi;
  expect(await flows.dependencies.journal.post(openBreak(book, 'sandbox', found))).toEqual({ outcome: 'posted' });
  const postings = [{ debit: 'expense:rail', credit: 'clearing:sandbox', amount: 100 }];
  const grounds = { reason: 'charges', evidence: 'the statement', proof };
  expect(await requestAdjustment(flows.dependencies, book, postings, grounds)).toMatchObject({ outcome: 'requested' });
  expect(await flows.sql`SELECT operator, action FROM audit_log WHERE operator_id = ${operatorId}`).toEqual([
    { operator: 'ngozi', action: 'adjustment.request' },
  ]);

  const charge = { rail: 'sandbox', kind: 'charge', reference: 'x', amount: 1, at: new Date() } as const;
  expect(await flows.dependencies.journal.post(postEntry(book, charge))).toEqual({ outcome: 'posted' });
  const { journal, sql } = flows.dependencies;
  expect(await sweepFees(sql, journal, book, { key: 'x', amount: 1, proof })).toMatchObject({ outcome: 'swept' });

  for (const table of Object.keys(TABLES)) {
    const rows = await flows.sql.unsafe(`SELECT DISTINCT added_later FROM ${table}`);
    expect([table, ...rows]).toEqual([table, { addedLater: { by: 'the next release' } }]);
  }
});
