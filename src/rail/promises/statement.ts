// Promises about the statement: what was done is on it once, with our references, and nothing else.
import assert from 'node:assert/strict';
import { nairaText } from '../../money.ts';
import type { StatementLine } from '../port.ts';
import { underControl, untilStatus } from './control.ts';
import type { RailHarness } from './harness.ts';
import { type Finding, fail, pass, type RailPromise, skip } from './promise.ts';
import { instruct } from './requests.ts';

const POLL_EVERY_MS = 10_000;
const LISTED_WITHIN_MS = 120_000;

async function readLines(
  { rail, organisationId, limit }: RailHarness,
  period: { from: Date; to: Date },
): Promise<StatementLine[]> {
  const lines: StatementLine[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await rail.statement({ organisationId, ...period, cursor }, limit());
    lines.push(...page.lines);
    cursor = page.nextCursor;
    if (cursor === null) return lines;
  }
}

/** From the start of the run until now. */
const runSoFar = ({ startedAt, now }: RailHarness) => ({
  from: new Date(startedAt.getTime() - 60_000),
  to: new Date(now().getTime() + 60_000),
});

async function statement(harness: RailHarness): Promise<Finding> {
  const { rail, facts, now, pause } = harness;
  const lists = rail.capabilities.statement;
  const expected = [
    ...(lists.transfers ? facts.paid.map(({ reference, amount }) => ({ kind: 'sent', reference, amount })) : []),
    ...(lists.credits
      ? facts.credits.map(({ sessionId, asked }) => ({ kind: 'credit', reference: sessionId, amount: asked }))
      : []),
  ];
  if (expected.length === 0)
    return skip('nothing of this run is expected on it', 'Let it move money: see transfer.ok.');
  const endsAt = now().getTime() + LISTED_WITHIN_MS;
  for (;;) {
    const lines = await readLines(harness, runSoFar(harness));
    const found = expected.map((one) => ({
      ...one,
      lines: lines.filter(({ kind, reference }) => kind === one.kind && reference === one.reference),
    }));
    const twice = found.find((one) => one.lines.length > 1);
    if (twice !== undefined)
      return fail(
        `a ${twice.kind} line is on it ${twice.lines.length} times`,
        'Ask the provider whether it was paid twice.',
      );
    const other = found.find((one) => one.lines.some(({ amount }) => amount !== one.amount));
    if (other !== undefined)
      return fail(
        `a ${other.kind} line of ${nairaText(other.amount)} has another amount`,
        'Report this with the stored exchanges: each would be a break of the reconciliation.',
      );
    const missing = found.filter((one) => one.lines.length === 0).length;
    if (missing === 0) {
      const charges = lines.some(({ kind }) => kind === 'charge')
        ? 'lines of their own'
        : 'told with their line, or not';
      return pass(`${expected.length} lines, once each, with our references; charges are ${charges}`);
    }
    if (now().getTime() >= endsAt)
      return fail(
        `${missing} of ${expected.length} lines are not on it after two minutes`,
        'Ask the provider when it lists them. The reconciliation compares a day at a time.',
      );
    await pause(POLL_EVERY_MS);
  }
}

const returned: RailPromise = underControl(
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
    if (harness.rail.capabilities.statement.transfers)
      for (const kind of ['sent', 'returned'])
        assert.equal(
          lines.find((line) => line.kind === kind && line.reference === instruction.reference)?.amount,
          instruction.amount,
        );
    for (const line of lines) {
      assert.ok(Number.isSafeInteger(line.amount) && line.amount > 0, 'an amount is a whole number of kobo');
      assert.ok(Number.isSafeInteger(line.charge) && line.charge >= 0, 'a charge is a whole number of kobo');
      assert.ok(line.at >= period.from, 'a line is older than the statement');
    }
  },
);

const empty: RailPromise = underControl(
  'statement.empty',
  'a statement of a time before there was money is empty',
  async (harness) => {
    const period = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-01-02T00:00:00Z') };
    assert.deepEqual(await readLines(harness, period), []);
  },
);

const balance: RailPromise = underControl(
  'statement.balance',
  'the balance falls by what was paid out, and by its charge',
  async (harness) => {
    const { rail, organisationId, control } = harness;
    const before = await rail.balance({ organisationId });
    assert.ok(before !== null);
    const instruction = await instruct(harness);
    await rail.sendTransfer(instruction);
    await control.end(instruction.reference, 'complete');
    const { charge } = await untilStatus(harness, instruction.reference, 'completed');
    const after = await rail.balance({ organisationId });
    assert.equal(after?.available, before.available - instruction.amount - (charge ?? 0));
  },
  ({ transfers }) => (transfers.balance ? null : 'the rail does not report its balance'),
);

export const statementPromises: readonly RailPromise[] = [
  { id: 'statement', needs: ['trace'], after: ['auth.login'], run: statement },
];

export const controlledStatementPromises: readonly RailPromise[] = [returned, empty, balance];
