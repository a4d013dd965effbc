// The code of a batch operation is valid for the retries of this batch, and for nothing else.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, type Sql } from '../../src/database/pool.ts';
import type { Uuid } from '../../src/ids.ts';
import { createBatchCode, createOperatorCodes, identifyOperator } from '../../src/resources/operators.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';

let database: TestDatabase;
let sql: Sql;
let operator: { id: Uuid; name: string };

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
  const [found] = await sql<{ id: Uuid; name: string }[]>`SELECT id, name FROM operators WHERE name = 'ngozi'`;
  if (found === undefined) throw new Error('there is no operator ngozi');
  operator = found;
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const RETRY = { workflowId: 'svc_1_wth', scope: 'support', decision: 'retry' } as const;
const REFUSED = { refusal: expect.stringContaining('code') };

test('a code of a batch identifies its operator in every flow, for retry only', async () => {
  const code = await createBatchCode(sql, operator, { batch: 'one', query: "FlowState = 'x'", reason: 'it is back' });
  const identified = { operator: expect.stringMatching(/_opr$/) };
  expect(await identifyOperator(sql, { ...RETRY, code, batch: 'one' })).toEqual(identified);
  expect(await identifyOperator(sql, { ...RETRY, code, batch: 'one', workflowId: 'svc_2_wth' })).toEqual(identified);
  expect(await identifyOperator(sql, { ...RETRY, code, batch: 'one', decision: 'fail of x' })).toEqual(REFUSED);
  expect(await identifyOperator(sql, { ...RETRY, code, batch: 'two' })).toEqual(REFUSED);
  expect(await identifyOperator(sql, { ...RETRY, code })).toEqual(REFUSED);
});

test('a code of a workflow is not valid in a batch', async () => {
  const { codes } = await createOperatorCodes(sql, operator.id, [RETRY.workflowId]);
  const code = codes.get(RETRY.workflowId) ?? '';
  expect(await identifyOperator(sql, { ...RETRY, code, batch: RETRY.workflowId })).toEqual(REFUSED);
});
