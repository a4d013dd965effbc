// Promises about the statement: what was done is on it once, with our references, and nothing else.
import assert from 'node:assert/strict';
import { nairaText } from '../../money.ts';
import { statementOf, type WholeStatement } from '../pages.ts';
import type { Period, StatementLine } from '../port.ts';
import { untilStatus } from './control.ts';
import { poll, type RailHarness, runSoFar } from './harness.ts';
import { type Finding, fail, fault, pass, type RailPromise, underControl } from './promise.ts';
import { instruct } from './requests.ts';

const POLL_EVERY_MS = 10_000;
const LISTED_WITHIN_MS = 120_000;

const readStatement = ({ rail, organisationId, limit }: RailHarness, period: Period): Promise<WholeStatement> =>
  statementOf(rail, { organisationId, ...period }, { signal: limit });

const readLines = async (harness: RailHarness, period: Period): Promise<StatementLine[]> =>
  (await readStatement(harness, period)).lines;

async function statement(harness: RailHarness): Promise<Finding> {
  const { facts } = harness;
  const expected = [
    ...facts.paid.map(({ reference, amount }) => ({ kind: 'sent', reference, amount })),
    ...facts.credits.map(({ sessionId, asked }) => ({ kind: 'credit', reference: sessionId, amount: asked })),
  ];
  let lines: StatementLine[] = [];
  const linesOf = (one: (typeof expected)[number]): StatementLine[] =>
    lines.filter(({ kind, reference }) => kind === one.kind && reference === one.reference);
  await poll(harness, POLL_EVERY_MS, LISTED_WITHIN_MS, async () => {
    lines = await readLines(harness, runSoFar(harness));
    return expected.every((one) => linesOf(one).length > 0);
  });
  const twice = expected.find((one) => linesOf(one).length > 1);
  if (twice !== undefined)
    return fail(
      `a ${twice.kind} line is on it ${linesOf(twice).length} times`,
      'Ask the provider whether it was paid twice.',
    );
  const other = expected.find((one) => linesOf(one).some(({ amount }) => amount !== one.amount));
  if (other !== undefined)
    return fault(
      `a ${other.kind} line of ${nairaText(other.amount)} has another amount`,
      'each would be a break of the reconciliation',
    );
  const missing = expected.filter((one) => linesOf(one).length === 0).length;
  if (missing > 0)
    return fail(
      `${missing} of ${expected.length} lines are not on it after two minutes`,
      'Ask the provider when it lists them. The reconciliation compares a day at a time.',
    );
  const charges = lines.some(({ kind }) => kind === 'charge') ? 'lines of their own' : 'in their line, or not reported';
  return pass(`${expected.length} lines, once each, with our references; charges are ${charges}`);
}

export const statementPromises: readonly RailPromise[] = [
  { id: 'statement', needs: ['trace'], after: ['auth.login'], run: statement },
  underControl(
    'statement.returned',
    'a transfer and its return are on it once each, no line twice, and amounts are whole kobo',
    async (harness) => {
      const instruction = await instruct(harness);
      await harness.rail.sendTransfer(instruction);
      for (const [outcome, status] of [
        ['complete', 'completed'],
        ['return', 'returned'],
      ] as const) {
        await harness.control.end(instruction.reference, outcome);
        await untilStatus(harness, instruction.reference, status);
      }
      const period = runSoFar(harness);
      const lines = await readLines(harness, period);
      const names = lines.map(({ kind, reference }) => `${kind} ${reference}`);
      assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted(), 'a line is on it twice');
      for (const kind of ['sent', 'returned'])
        assert.equal(
          lines.find((line) => line.kind === kind && line.reference === instruction.reference)?.amount,
          instruction.amount,
        );
      for (const line of lines) {
        assert.ok(Number.isSafeInteger(line.amount) && line.amount > 0, 'an amount is a whole number of kobo');
        assert.ok(Number.isSafeInteger(line.charge), 'a charge is a whole number of kobo');
        assert.ok(line.at >= period.from, 'a line is older than the statement');
      }
    },
  ),
  underControl('statement.empty', 'a statement of a time before there was money is empty', async (harness) => {
    const period = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-01-02T00:00:00Z') };
    assert.deepEqual(await readLines(harness, period), []);
  }),
  underControl(
    'statement.kept',
    'the line of a transfer stays as it is when the transfer comes back, and both explain the balance',
    async (harness) => {
      const { rail, organisationId, control } = harness;
      const before = rail.capabilities.transfers.balance ? await rail.balance({ organisationId }) : null;
      const instruction = await instruct(harness);
      const lineOf = async (kind: 'sent' | 'returned'): Promise<StatementLine> => {
        const lines = await readLines(harness, runSoFar(harness));
        const found = lines.find((line) => line.kind === kind && line.reference === instruction.reference);
        assert.ok(found !== undefined, `the ${kind} line`);
        return found;
      };
      await rail.sendTransfer(instruction);
      await control.end(instruction.reference, 'complete');
      await untilStatus(harness, instruction.reference, 'completed');
      const sent = await lineOf('sent');
      await control.end(instruction.reference, 'return');
      await untilStatus(harness, instruction.reference, 'returned');
      assert.equal((await lineOf('sent')).charge, sent.charge, 'its charge, which may be posted');
      if (before === null) return;
      const charges = sent.charge + (await lineOf('returned')).charge;
      assert.equal(await rail.balance({ organisationId }), before - charges);
    },
  ),
  underControl('statement.balance', 'the balance falls by what was paid out, and by its charge', async (harness) => {
    const { rail, organisationId, control } = harness;
    if (!rail.capabilities.transfers.balance) return;
    const before = await rail.balance({ organisationId });
    assert.ok(before !== null);
    const instruction = await instruct(harness);
    await rail.sendTransfer(instruction);
    await control.end(instruction.reference, 'complete');
    const { charge } = await untilStatus(harness, instruction.reference, 'completed');
    const after = await rail.balance({ organisationId });
    assert.equal(after, before - instruction.amount - (charge ?? 0));
  }),
];
