// `ledger verify` finds what was decided without proof: past the functions of the database, as a superuser may write.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAdjustmentActivities } from '../../src/activities/adjustments.ts';
import { publicId, requireUuid } from '../../src/ids.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { move } from '../ledger/books.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf, OPERATORS } from '../support/operators.ts';
import { asSuperuser } from '../support/stack.ts';
import { Stage } from './stage.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

const missing = async ({ book }: Stage): Promise<string[]> =>
  (await verifyBooks(api.sql, { only: book.organisationId, pageSize: 1 })).findings
    .filter(({ kind }) => kind === 'DECISION_MISSING')
    .map(({ resource, expected, found }) => `${resource}: ${expected}, ${found}`);

async function postedAdjustment(stage: Stage): Promise<string> {
  // A cost that is in favour of a customer needs own money.
  await stage.posted(move(stage.book, 'clearing:sandbox', 'own:funds', 5_000));
  const postings = [{ debit: 'expense:rail', credit: `wallet:${await stage.wallet()}`, amount: 5_000 }];
  const grounds = { reason: 'a refund', evidence: 'ticket 1', proof: OPERATORS.ada.proof };
  const requested = await requestAdjustment(api.dependencies, stage.book, postings, grounds);
  if (requested.outcome === 'refused') throw new Error(requested.message);
  const adjustmentId = publicId('adjustment', requested.id);
  const code = await codeOf(api.sql, 'ngozi', adjustmentId, 'approve');
  const input = { ...stage.book, adjustmentId, amount: 5_000 };
  const decision = { action: 'approve', reason: 'checked', code } as const;
  await createAdjustmentActivities(api.dependencies).applyAdjustmentDecision(input, decision);
  return adjustmentId;
}

test('an adjustment without the entry or the code of one of two operators', async () => {
  const stage = new Stage(api, await api.createOrganisation());
  const [whole, request, code] = [
    await postedAdjustment(stage),
    await postedAdjustment(stage),
    await postedAdjustment(stage),
  ];
  expect(await missing(stage)).toEqual([]);
  await asSuperuser(api.dependencies.config.databaseUrl, async (sql) => {
    await sql`DELETE FROM audit_log WHERE subject = ${request} AND action = 'adjustment.request'`;
    await sql`UPDATE operator_codes SET operator_id = ${OPERATORS.tunde.id} WHERE subject = ${code}`;
  });
  expect(await missing(stage)).toEqual([`${request}: decided by 2, by 1`, `${code}: decided by 2, by 1`]);
  expect(whole).not.toBe(request);
});

test('a transfer that says that operators decided it, a credit set aside, and a case that was decided', async () => {
  const stage = new Stage(api, await api.createOrganisation());
  const withdrawal = await stage.withdrawal();
  const payment = await stage.paidByBank(40_000);
  const { organisationId } = stage.book;
  await asSuperuser(api.dependencies.config.databaseUrl, async (sql) => {
    await sql`UPDATE withdrawals SET failure_code = 'operator_decision' WHERE id = ${requireUuid('withdrawal', withdrawal)}`;
    await sql`UPDATE inbound_credits SET status = 'set_aside' WHERE owner_id = ${requireUuid('payment', payment)}`;
    await sql`
      INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, attempts, created_at, resolved_at)
      VALUES (${organisationId}, 'test', ${requireUuid('withdrawal', withdrawal)}, 1, 'credit_recalled', 'closed', 1, 0, now(), now())`;
  });
  expect(await missing(stage)).toEqual([
    `${publicId('reviewCase', requireUuid('withdrawal', withdrawal))}: decided by 1, by 0`,
    `${payment}: decided by 1, by 0`,
    `${withdrawal}: decided by 2, by 0`,
  ]);
});
