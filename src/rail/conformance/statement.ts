// The promises about the balance and the statement: what was done is on it once, and nothing else.
import assert from 'node:assert/strict';
import type { StatementLine } from '../port.ts';
import { accountRequest, instructionTo, kindsOf, type PromisesOf, type RailBench, until } from './bench.ts';

async function linesOf(bench: RailBench, from: Date, to: Date): Promise<StatementLine[]> {
  const lines: StatementLine[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await bench.rail.statement({ organisationId: bench.organisationId, from, to, cursor });
    lines.push(...page.lines);
    cursor = page.nextCursor;
    if (cursor === null) return lines;
  }
}

export const statementPromises: PromisesOf = (capabilities) => [
  {
    title: 'the balance falls by what was paid out, and by its charge',
    check: async (bench) => {
      const { organisationId, rail } = bench;
      const before = await rail.balance({ organisationId });
      assert.equal(before !== null, capabilities.transfers.balance);
      if (before === null) return;
      const instruction = instructionTo(bench, await bench.newDestination());
      await rail.sendTransfer(instruction);
      await bench.end(instruction.reference, 'complete');
      const report = await until('the transfer to be paid', async () => {
        const found = await rail.transferStatus({ organisationId, reference: instruction.reference });
        return found?.status === 'completed' && found;
      });
      const after = await rail.balance({ organisationId });
      assert.equal(after?.available, before.available - instruction.amount - (report.charge ?? 0));
    },
  },
  {
    title: 'the statement has a credit, a transfer and its return once each, with their amounts, and nothing twice',
    check: async (bench) => {
      const { organisationId, rail } = bench;
      const from = new Date(bench.now().getTime() - 60_000);
      const sessions: string[] = [];
      for (const kind of kindsOf(capabilities)) {
        const request = accountRequest(bench, kind);
        const account = await rail.openVirtualAccount(request);
        const sessionId = await bench.payIn(account.accountNumber, 202_037);
        if (sessionId !== null) sessions.push(sessionId);
      }
      const instruction = instructionTo(bench, await bench.newDestination());
      await rail.sendTransfer(instruction);
      for (const [outcome, status] of [
        ['complete', 'completed'],
        ['return', 'returned'],
      ] as const) {
        await bench.end(instruction.reference, outcome);
        await until(`the transfer to be ${status}`, async () => {
          const found = await rail.transferStatus({ organisationId, reference: instruction.reference });
          return found?.status === status;
        });
      }
      const lines = await linesOf(bench, from, new Date(bench.now().getTime() + 60_000));
      const names = lines.map(({ kind, reference }) => `${kind} ${reference}`);
      assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted(), 'a line is on it twice');
      const amountsOf = (kind: StatementLine['kind'], reference: string): number[] =>
        lines.filter((line) => line.kind === kind && line.reference === reference).map(({ amount }) => amount);
      if (capabilities.statement.credits) {
        for (const sessionId of sessions) assert.deepEqual(amountsOf('credit', sessionId), [202_037]);
      }
      if (capabilities.statement.transfers) {
        assert.deepEqual(amountsOf('sent', instruction.reference), [instruction.amount]);
        assert.deepEqual(amountsOf('returned', instruction.reference), [instruction.amount]);
      }
      for (const line of lines) {
        assert.ok(Number.isSafeInteger(line.amount) && line.amount > 0, 'an amount is a whole number of kobo');
        assert.ok(Number.isSafeInteger(line.charge) && line.charge >= 0, 'a charge is a whole number of kobo');
        assert.ok(line.at >= from, 'a line is older than the statement');
      }
    },
  },
  {
    title: 'a statement of a time before there was money is empty',
    check: async (bench) => {
      assert.deepEqual(await linesOf(bench, new Date('2020-01-01T00:00:00Z'), new Date('2020-01-02T00:00:00Z')), []);
    },
  },
];
