// Promises about transfers, with a fake of the provider: a reference is paid at most once, and no status is guessed.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { AMOUNT_MAX } from '../../../src/money.ts';
import { isAbout } from '../../../src/rail/adapterCalls.ts';
import { RailNotReadyError, RailUnavailableError } from '../../../src/rail/errors.ts';
import type { TransferInstruction, TransferReport } from '../../../src/rail/port.ts';
import { reasonOf } from '../../../src/rail/texts.ts';
import {
  type ControlledHarness,
  fails,
  instruct,
  type ProviderAnswer,
  statusOf,
  type TriedPromise,
  underControl,
  until,
  untilStatus,
} from './control.ts';

/** A customer reads it: it may be missing, but it never repeats a status. */
const assertReason = ({ reason }: TransferReport): void =>
  assert.equal(reasonOf(reason), reason, `"${reason}" does not say why`);

const assertAbout = (report: TransferReport, instruction: TransferInstruction): void =>
  assert.ok(isAbout(report, instruction), `${inspect(report)} is not about ${inspect(instruction)}`);

async function send({ rail }: ControlledHarness, instruction: TransferInstruction): Promise<TransferReport> {
  const report = await rail.sendTransfer(instruction);
  assertAbout(report, instruction);
  return report;
}

/** The receiving bank accepts the transfer, and it was paid once. */
async function assertPaidOnce(harness: ControlledHarness, instruction: TransferInstruction): Promise<void> {
  await harness.control.end(instruction.reference, 'complete');
  assertAbout(await untilStatus(harness, instruction.reference, 'completed'), instruction);
  assert.equal(await harness.control.timesPaid(instruction.reference), 1);
}

async function assertNotSent(harness: ControlledHarness, { reference }: TransferInstruction): Promise<void> {
  assert.equal(await statusOf(harness, reference), null);
  assert.equal(await harness.control.timesPaid(reference), 0);
}

async function assertStatusAnswer(harness: ControlledHarness, { means, words, give }: ProviderAnswer): Promise<void> {
  give(false);
  const status = statusOf(harness, harness.newReference());
  if (means === 'absent') assert.equal(await status, null, words);
  else await fails(harness, 'RailUnavailableError', status);
}

async function assertSendAnswer(harness: ControlledHarness, answer: ProviderAnswer, acts: boolean): Promise<void> {
  const { means, words, give } = answer;
  const instruction = await instruct(harness);
  const show = give(acts);
  const name = means === 'refused' ? 'RailRefusedError' : 'RailUnavailableError';
  const error = await fails(harness, name, harness.rail.sendTransfer(instruction));
  if (error instanceof RailUnavailableError) {
    assert.equal(error.knowsReference, means === 'exists', words);
    assert.equal(error.isNotSent, false, words);
  } else assert.ok(reasonOf(error.message) !== null, `"${error.message}" does not say why`);
  assert.equal(await statusOf(harness, instruction.reference), null, words);
  show();
  assert.equal((await statusOf(harness, instruction.reference)) !== null, acts, words);
}

const lost = (what: 'request' | 'response'): TriedPromise =>
  underControl(
    `transfer.lost_${what}`,
    `a send whose ${what} was lost is unknown, and is paid once when it is sent again`,
    async (harness) => {
      const instruction = await instruct(harness);
      await fails(harness, 'RailUnavailableError', harness.control.sendLosing(what, instruction));
      const known = await statusOf(harness, instruction.reference);
      if (what === 'request') assert.equal(known, null);
      else assert.ok(known !== null, 'the rail knows a transfer that it accepted');
      // Elsewhere, if it is unknown: the loss may belong to the account.
      const again = known === null ? { ...instruction, ...(await harness.control.newDestination()) } : instruction;
      await send(harness, again);
      await assertPaidOnce(harness, again);
    },
  );

export const transfersUnderControl: readonly TriedPromise[] = [
  underControl(
    'transfer.repeated',
    'sending a reference again makes no second transfer, while it is in progress and after it was paid',
    async (harness) => {
      const instruction = await instruct(harness);
      for (let time = 0; time < 3; time += 1) await send(harness, instruction);
      await assertPaidOnce(harness, instruction);
      assert.equal((await send(harness, instruction)).status, 'completed');
      assert.equal(await harness.control.timesPaid(instruction.reference), 1);
    },
  ),
  underControl('transfer.at_once', 'five sends of one reference at the same time are one transfer', async (harness) => {
    const instruction = await instruct(harness);
    const sends = Array.from({ length: 5 }, () => harness.rail.sendTransfer(instruction));
    assert.ok((await Promise.allSettled(sends)).some(({ status }) => status === 'fulfilled'));
    await assertPaidOnce(harness, instruction);
  }),
  lost('request'),
  lost('response'),
  underControl(
    'transfer.not_ready',
    'a send that the rail is not ready for has no effect, and the same reference is paid once when it is',
    async (harness) => {
      const sends = Object.entries(harness.control.sendNotReady);
      assert.ok(sends.length > 0, 'the provider has a cause for which it does not accept a transfer');
      for (const [cause, sendInVain] of sends) {
        const instruction = await instruct(harness);
        const error = await fails(harness, 'RailNotReadyError', sendInVain(instruction));
        assert.ok(error instanceof RailNotReadyError && error.why === cause, `not for ${cause}: ${inspect(error)}`);
        await assertNotSent(harness, instruction);
        await send(harness, instruction);
        await assertPaidOnce(harness, instruction);
      }
    },
  ),
  underControl('transfer.not_sent', 'a send whose login fails was not made, and says so', async (harness) => {
    const { contract, control } = harness;
    if (contract === null || control.failLogins === undefined) return;
    const instruction = await instruct(harness);
    control.failLogins(true);
    const error = await fails(harness, 'RailUnavailableError', contract.openRail().sendTransfer(instruction));
    control.failLogins(false);
    assert.ok(error instanceof RailUnavailableError && error.isNotSent, 'it must say that it was not sent');
    await assertNotSent(harness, instruction);
  }),
  underControl(
    'transfer.answers',
    'each documented answer to a send or a query has one meaning, and what was accepted all the same is reported',
    async (harness) => {
      for (const answer of harness.control.answers ?? []) {
        if (answer.to === 'status') await assertStatusAnswer(harness, answer);
        else for (const acts of [false, true]) await assertSendAnswer(harness, answer, acts);
      }
    },
  ),
  underControl('transfer.aborted', 'an aborted call sends nothing, and throws the reason', async (harness) => {
    const instruction = await instruct(harness);
    const reason = new Error('the attempt is over');
    const call = harness.rail.sendTransfer(instruction, AbortSignal.abort(reason));
    await assert.rejects(call, (error) => error === reason);
    await assertNotSent(harness, instruction);
  }),
  underControl(
    'transfer.refused',
    'a transfer that the receiving bank refuses has failed or is returned, with a reason, and was not paid',
    async (harness) => {
      const instruction = await instruct(harness);
      await send(harness, instruction);
      await harness.control.end(instruction.reference, 'fail');
      const report = await until(harness, `${instruction.reference} to end`, async () => {
        const found = await statusOf(harness, instruction.reference);
        return found?.status !== 'processing' && found;
      });
      // A provider that has one word for both reports `returned`, which is true of the money.
      assert.ok(report.status === 'failed' || report.status === 'returned', `it is ${report.status}`);
      assertReason(report);
      assert.equal(await harness.control.timesPaid(instruction.reference), 0);
      assert.equal((await send(harness, instruction)).status, report.status);
    },
  ),
  underControl('transfer.returned', 'a transfer that comes back after it was paid is returned', async (harness) => {
    const instruction = await instruct(harness);
    await send(harness, instruction);
    await assertPaidOnce(harness, instruction);
    await harness.control.end(instruction.reference, 'return');
    const report = await untilStatus(harness, instruction.reference, 'returned');
    assertAbout(report, instruction);
    assertReason(report);
    assert.equal((await send(harness, instruction)).status, 'returned');
    assert.equal(await harness.control.timesPaid(instruction.reference), 1);
  }),
  underControl(
    'transfer.amounts',
    'amounts up to the largest of the API, and narrations of any kind, arrive',
    async (harness) => {
      const narrations = [null, '', 'Rent', 'Café – “rent” for #12 (müller & söhne)', 'x'.repeat(100), '\n\t'];
      const amounts = [1, 99, 100, 101, 100_010, 99_999_999, AMOUNT_MAX - 1, AMOUNT_MAX];
      for (const [index, amount] of amounts.entries()) {
        const instruction = await instruct(harness, { amount, narration: narrations[index] ?? null });
        await send(harness, instruction);
        // Some responses have no amount.
        const known = await untilStatus(harness, instruction.reference, 'processing', 'completed');
        assert.equal(known.amount, instruction.amount);
        await harness.control.end(instruction.reference, 'fail'); // the money is back
      }
    },
  ),
];
