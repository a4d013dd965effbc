// The promises about transfers: a reference is paid at most once, whatever is lost, and a status is never guessed.
import assert from 'node:assert/strict';
import { AMOUNT_MAX } from '../../money.ts';
import type { NotReadyCause } from '../errors.ts';
import type { TransferInstruction, TransferReport } from '../port.ts';
import { fails, failsFor, instructionTo, type PromisesOf, type RailBench, until } from './bench.ts';

const statusOf = (bench: RailBench, reference: string): Promise<TransferReport | null> =>
  bench.rail.transferStatus({ organisationId: bench.organisationId, reference });

async function untilStatus(
  bench: RailBench,
  reference: string,
  ...statuses: TransferReport['status'][]
): Promise<TransferReport> {
  return await until(`${reference} to be ${statuses.join(' or ')}`, async () => {
    const report = await statusOf(bench, reference);
    return report !== null && statuses.includes(report.status) && report;
  });
}

/** What a report tells of the transfer is what the instruction says. */
function assertAbout(report: TransferReport, instruction: TransferInstruction): void {
  assert.equal(report.reference, instruction.reference);
  if (report.amount !== null) assert.equal(report.amount, instruction.amount);
  if (report.accountNumber !== null) assert.equal(report.accountNumber, instruction.accountNumber);
  if (report.bankCode !== null) assert.equal(report.bankCode, instruction.bankCode);
}

const instruct = async (bench: RailBench, more: Partial<TransferInstruction> = {}): Promise<TransferInstruction> =>
  instructionTo(bench, await bench.newDestination(), more);

export const transferPromises: PromisesOf = ({ transfers }) => [
  {
    title: 'the list of banks has no code twice',
    check: async (bench) => {
      const codes = (await bench.rail.banks()).map(({ code }) => code);
      assert.ok(codes.length > 0);
      assert.equal(new Set(codes).size, codes.length);
    },
  },
  {
    title: 'name enquiry returns the name of an account, and null where there is none',
    check: async (bench) => {
      const { organisationId, rail } = bench;
      const found = await rail.resolveAccount({ organisationId, ...(await bench.newDestination()) });
      assert.ok(found !== null && found.accountName !== '');
      assert.equal(await rail.resolveAccount({ organisationId, ...bench.noDestination }), null);
    },
  },
  {
    title: 'a transfer is in progress, then paid once, with the amount of its instruction',
    check: async (bench) => {
      const instruction = await instruct(bench);
      const sent = await bench.rail.sendTransfer(instruction);
      assertAbout(sent, instruction);
      assert.ok(sent.status === 'processing' || sent.status === 'completed');
      await bench.end(instruction.reference, 'complete');
      assertAbout(await untilStatus(bench, instruction.reference, 'completed'), instruction);
      assert.equal(await bench.timesPaid(instruction.reference), 1);
    },
  },
  {
    title: 'sending a reference again makes no second transfer, while it is in progress and after it was paid',
    check: async (bench) => {
      const instruction = await instruct(bench);
      for (let time = 0; time < 3; time += 1) assertAbout(await bench.rail.sendTransfer(instruction), instruction);
      await bench.end(instruction.reference, 'complete');
      await untilStatus(bench, instruction.reference, 'completed');
      assert.equal((await bench.rail.sendTransfer(instruction)).status, 'completed');
      assert.equal(await bench.timesPaid(instruction.reference), 1);
    },
  },
  {
    title: 'five sends of one reference at the same time are one transfer',
    check: async (bench) => {
      const instruction = await instruct(bench);
      const sends = Array.from({ length: 5 }, () => bench.rail.sendTransfer(instruction));
      assert.ok((await Promise.allSettled(sends)).some(({ status }) => status === 'fulfilled'));
      await bench.end(instruction.reference, 'complete');
      await untilStatus(bench, instruction.reference, 'completed');
      assert.equal(await bench.timesPaid(instruction.reference), 1);
    },
  },
  ...(['request', 'response'] as const).map((what) => ({
    title: `a send whose ${what} was lost is unknown, and is paid once when it is sent again`,
    check: async (bench: RailBench) => {
      const instruction = await instruct(bench);
      await fails(bench, 'RailUnavailableError', bench.sendLosing(what, instruction));
      const known = await statusOf(bench, instruction.reference);
      if (what === 'request') assert.equal(known, null);
      else assert.ok(known !== null, 'the rail knows a transfer that it accepted');
      if (known === null) {
        // Elsewhere the loss may belong to the account.
        const elsewhere = { ...instruction, ...(await bench.newDestination()) };
        assertAbout(await bench.rail.sendTransfer(elsewhere), elsewhere);
      } else {
        assertAbout(await bench.rail.sendTransfer(instruction), instruction);
      }
      await bench.end(instruction.reference, 'complete');
      await untilStatus(bench, instruction.reference, 'completed');
      assert.equal(await bench.timesPaid(instruction.reference), 1);
    },
  })),
  {
    title: 'a send that the rail is not ready for has no effect, and the same reference is paid once when it is',
    check: async (bench) => {
      const causes = Object.entries(bench.sendNotReady) as [
        NotReadyCause,
        (typeof bench.sendNotReady)[NotReadyCause],
      ][];
      assert.ok(causes.length > 0, 'the provider has a cause for which it does not accept a transfer');
      for (const [cause, send] of causes) {
        const instruction = await instruct(bench);
        await failsFor(bench, cause, Promise.resolve(send?.(instruction)));
        assert.equal(await statusOf(bench, instruction.reference), null, `after ${cause}`);
        assert.equal(await bench.timesPaid(instruction.reference), 0);
        assertAbout(await bench.rail.sendTransfer(instruction), instruction);
        await bench.end(instruction.reference, 'complete');
        await untilStatus(bench, instruction.reference, 'completed');
        assert.equal(await bench.timesPaid(instruction.reference), 1);
      }
    },
  },
  {
    title: 'an aborted call sends nothing, and says why',
    check: async (bench) => {
      const instruction = await instruct(bench);
      const reason = new Error('the attempt is over');
      const call = bench.rail.sendTransfer(instruction, AbortSignal.abort(reason));
      await assert.rejects(call, (error) => error === reason);
      assert.equal(await statusOf(bench, instruction.reference), null);
      assert.equal(await bench.timesPaid(instruction.reference), 0);
    },
  },
  {
    title: 'a reference that was never sent is unknown',
    check: async (bench) => {
      assert.equal(await statusOf(bench, bench.newReference()), null);
    },
  },
  {
    title: 'a transfer that the receiving bank refuses has failed or is returned, with a reason, and was not paid',
    check: async (bench) => {
      const instruction = await instruct(bench);
      await bench.rail.sendTransfer(instruction);
      await bench.end(instruction.reference, 'fail');
      const report = await until(`${instruction.reference} to end`, async () => {
        const found = await statusOf(bench, instruction.reference);
        return found?.status !== 'processing' && found;
      });
      // A provider that has one word for both reports `returned`, which is true of the money.
      assert.ok(report.status === 'failed' || report.status === 'returned', `it is ${report.status}`);
      assert.ok(report.reason !== null && report.reason !== '');
      assert.equal(await bench.timesPaid(instruction.reference), 0);
      assert.equal((await bench.rail.sendTransfer(instruction)).status, report.status);
    },
  },
  {
    title: 'a transfer that comes back after it was paid is returned',
    check: async (bench) => {
      const instruction = await instruct(bench);
      await bench.rail.sendTransfer(instruction);
      await bench.end(instruction.reference, 'complete');
      await untilStatus(bench, instruction.reference, 'completed');
      await bench.end(instruction.reference, 'return');
      assertAbout(await untilStatus(bench, instruction.reference, 'returned'), instruction);
      assert.equal((await bench.rail.sendTransfer(instruction)).status, 'returned');
      assert.equal(await bench.timesPaid(instruction.reference), 1);
    },
  },
  {
    title: 'the end of a transfer is reported by a callback with its reference',
    check: async (bench) => {
      const instruction = await instruct(bench);
      await bench.rail.sendTransfer(instruction);
      await bench.end(instruction.reference, 'complete');
      const { organisationId, rail } = bench;
      await until('the callback of a transfer', () =>
        Promise.resolve(
          bench
            .callbacks()
            .flatMap((sent) => rail.parseCallback({ organisationId, ...sent }))
            .some((one) => one.kind === 'transfer_update' && one.reference === instruction.reference),
        ),
      );
    },
  },
  {
    title: 'amounts up to the largest of the API, and narrations of any kind, arrive',
    check: async (bench) => {
      const narrations = [null, '', 'Rent', 'Café – “rent” for #12 (müller & söhne)', 'x'.repeat(100), '\n\t'];
      const { minAmount, maxAmount } = transfers;
      const largest = Math.min(AMOUNT_MAX, maxAmount ?? AMOUNT_MAX);
      const amounts = [minAmount, 99, 100, 101, 100_010, 99_999_999, largest - 1, largest];
      for (const [index, amount] of amounts.entries()) {
        const instruction = await instruct(bench, {
          amount: Math.max(amount, minAmount),
          narration: narrations[index] ?? null,
        });
        assertAbout(await bench.rail.sendTransfer(instruction), instruction);
        // Some responses have no amount.
        const known = await untilStatus(bench, instruction.reference, 'processing', 'completed');
        assert.equal(known.amount, instruction.amount);
        await bench.end(instruction.reference, 'fail'); // the money is back
      }
    },
  },
];
