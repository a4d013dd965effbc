// Promises about the statement, with a fake of the provider.
import assert from 'node:assert/strict';
import type { StatementLine } from '../../../src/rail/port.ts';
import { runSoFar } from '../../../src/rail/promises/harness.ts';
import { readLines } from '../../../src/rail/promises/statement.ts';
import { instruct, type TriedPromise, underControl, untilStatus } from './control.ts';

export const statementUnderControl: readonly TriedPromise[] = [
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
