// A correction of the books from the command line: two operators, one movement, one audit trail, and one reversal.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { runCli } from '../cli/run.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { codeOf, OPERATORS, type OperatorName } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows();
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const GROUNDS = ['--reason', 'the bank paid nothing after all', '--evidence', 'ticket 1234'];
const CHECKED = ['--reason', "agrees with the bank's letter"];

/** Runs `adjustments …` as this operator; returns its JSON, or the line of its error. */
async function cli(operator: OperatorName, ...words: string[]) {
  const decides = words[0] === 'approve' || words[0] === 'reject';
  const organisation = ['--organisation', publicId('organisation', flows.organisation.organisationId)];
  const { exitCode, output, errors } = await runCli(
    ['adjustments', ...words, '--json', ...(decides ? [] : organisation)],
    {
      databaseUrl: flows.databaseUrl,
      home: '/nowhere',
      temporalAddress: flows.dependencies.config.temporal.address,
      operatorKey: OPERATORS[operator].key,
    },
  );
  return exitCode === 0 ? JSON.parse(output) : errors;
}

/** Waits until the flow shows the adjustment, so that it accepts a decision. */
const untilShown = (id: string) =>
  waitFor(`${id} to need attention`, async () =>
    (await flows.detailsOf(id).catch(() => '')).includes('Send the update'),
  );

test('an adjustment needs two operators, is one movement with its audit trail, and is reversed once', async () => {
  const wallet = await flows.createWallet(undefined, { balance: 1_000 });
  const posting = ['--environment', 'test', '--posting', `clearing:sandbox wallet:${wallet} 5000`];
  const { id } = await cli('ada', 'request', ...posting, ...GROUNDS);
  await untilShown(id);
  expect(await flows.detailsOf(id)).toContain(`| clearing:sandbox | wallet:${wallet} | ₦50.00 |`);
  expect(await cli('ada', 'approve', id, ...CHECKED)).toMatch(/another operator must approve it/);
  expect(await flows.balanceOf(wallet)).toBe(1_000);

  expect(await cli('ngozi', 'approve', id, ...CHECKED)).toMatchObject({ outcome: 'done', status: 'posted' });
  expect(await cli('ngozi', 'approve', id, ...CHECKED)).toMatch(/no open adjustment/);
  expect(await flows.balanceOf(wallet)).toBe(6_000);
  const written = await flows.sql`
    SELECT t.xmin = a.xmin AND t.xmin = l.xmin AS in_one_statement, l.operator, l.reason
    FROM ledger.transactions t JOIN adjustments a USING (organisation_id, id) JOIN audit_log l ON l.subject = t.resource
    WHERE t.resource = ${id} AND l.action = 'adjustment.approve'`;
  expect([...written]).toEqual([{ inOneStatement: true, operator: 'ngozi', reason: "agrees with the bank's letter" }]);

  const { id: reversal } = await cli('ngozi', 'reverse', id, ...GROUNDS);
  expect(await cli('ngozi', 'reverse', id, ...GROUNDS)).toMatch(/has a reversal already/);
  await untilShown(reversal);
  // In the Temporal UI, with a code.
  const answer = await flows.temporal.workflow.getHandle(reversal).executeUpdate('decide', {
    args: [
      { action: 'approve', reason: 'the wrong wallet', code: await codeOf(flows.sql, 'ada', reversal, 'approve') },
    ],
  });
  expect(answer).toEqual({ outcome: 'done', message: 'The adjustment is posted.', status: 'posted' });
  expect(await flows.balanceOf(wallet)).toBe(1_000);
  expect(await cli('ada', 'reverse', id, ...GROUNDS)).toMatch(/has a reversal already/);

  expect(await cli('ada', 'list', '--status', 'posted')).toMatchObject([{ id: reversal, reverses: id }, { id }]);
  expect(await cli('ada', 'show', id)).toMatchObject({
    status: 'posted',
    requestedBy: OPERATORS.ada.publicId,
    decidedBy: OPERATORS.ngozi.publicId,
    reversedBy: reversal,
    evidence: 'ticket 1234',
    postings: [{ debit: 'clearing:sandbox', credit: `wallet:${wallet}`, amount: 5_000 }],
    audit: [
      { operator: 'ada', action: 'adjustment.request' },
      { operator: 'ngozi', action: 'adjustment.approve' },
    ],
  });
});

test('a decision without a valid code or an allowed action is refused, and the adjustment stays open', async () => {
  const { id } = await cli(
    'ada',
    'request',
    '--environment',
    'test',
    '--posting',
    'loss:operations income:fees 1',
    ...GROUNDS,
  );
  await untilShown(id);
  const refusal = async (decision: object): Promise<string> =>
    await flows.temporal.workflow
      .getHandle(id)
      .executeUpdate('decide', { args: [{ action: 'approve', reason: 'checked', ...decision }] })
      .then(JSON.stringify, (error: Error & { cause?: Error }) => error.cause?.message ?? error.message);
  expect(await refusal({})).toMatch(/code must say who decides/);
  expect(await refusal({ code: 'no-such-code' })).toMatch(/not valid/);
  expect(await refusal({ code: 'no-such-code', action: 'post' })).toMatch(/approve, reject/);
  expect(await cli('ngozi', 'reject', id, ...CHECKED)).toMatchObject({ outcome: 'done', status: 'rejected' });
  expect(await flows.temporal.workflow.getHandle(id).result()).toEqual({ status: 'rejected' });
  expect(await cli('ada', 'reverse', id, ...GROUNDS)).toMatch(/only a posted one is reversed/);
});

test.each([
  [['request', '--environment', 'test', '--posting', 'expense:rail income:fees', ...GROUNDS], /DEBIT CREDIT KOBO/],
  [['request', '--environment', 'test', '--posting', 'expense:rail income:fees 1.5', ...GROUNDS], /DEBIT CREDIT KOBO/],
  [['request', '--environment', 'test', '--posting', 'in_transit:payouts income:fees 1', ...GROUNDS], /in_transit/],
  [['request', '--environment', 'test', '--posting', 'expense:rail income:fees 1', '--reason', 'x'], /--evidence/],
  [['show', 'svc_x_adj'], /not an adjustment id/],
])('%j fails with a message that says what to do', async (words, message) => {
  expect(await cli('ada', ...words)).toMatch(message);
});
