// The gate before transfers: what the balance of a rail does not cover waits, and is never sent to fail.
import { describe, expect, test } from '@jest/globals';
import { RailNotReadyError, RailUnavailableError } from '../../src/rail/errors.ts';
import { floatGate } from '../../src/rail/float.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { sandboxCapabilities } from '../../src/rail/sandbox/capabilities.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { instruct } from './sandbox.ts';

function gate(balances: (number | null | Error)[]) {
  const clock = { now: 0 };
  let reads = 0;
  const read = () => {
    const balance = balances[Math.min(reads, balances.length - 1)];
    reads += 1;
    if (balance instanceof Error) return Promise.reject(balance);
    return Promise.resolve(balance == null ? null : balance);
  };
  const float = floatGate(() => clock.now);
  const admit = (amount: number): Promise<string> =>
    float(amount, read).then(
      () => 'admitted',
      (error: Error) => (error instanceof RailNotReadyError ? error.why : error.message),
    );
  return { clock, admit, reads: () => reads };
}

describe('the balance of a rail', () => {
  test('is read once for many transfers, and each is counted', async () => {
    const { admit, reads } = gate([1_000]);
    expect([await admit(600), await admit(400), await admit(1), reads()]).toEqual([
      'admitted',
      'admitted',
      'underfunded',
      1,
    ]);
  });

  test('that is too low is read again after a second', async () => {
    const { admit, clock } = gate([100, 500]);
    expect(await admit(200)).toBe('underfunded');
    clock.now = 1_001;
    expect(await admit(200)).toBe('admitted');
  });

  test('is believed for ten seconds', async () => {
    const { admit, clock, reads } = gate([1_000, 0]);
    expect(await admit(1)).toBe('admitted');
    clock.now = 10_001;
    expect([await admit(1), reads()]).toEqual(['underfunded', 2]);
  });

  test.each([
    ['that it does not report', null],
    ['that cannot be read now', new RailUnavailableError('away')],
  ])('%s keeps nothing back: the rail decides', async (_case, balance) => {
    const { admit } = gate([balance]);
    expect([await admit(9e15), await admit(9e15)]).toEqual(['admitted', 'admitted']);
  });
});

test('a transfer that the balance does not cover is not sent', async () => {
  const capabilities = sandboxCapabilities({ callLimitMs: 5_000, notVisibleForMs: 0 });
  const sent: string[] = [];
  const adapter = {
    name: 'float',
    capabilities: { ...capabilities, transfers: { ...capabilities.transfers, balance: true } },
    balance: () => Promise.resolve(250_000),
    sendTransfer: ({ reference }: { reference: string }) => {
      sent.push(reference);
      return Promise.resolve(reportOf(reference, 'processing'));
    },
  } as unknown as BankRail;
  const rail = guardedRail(adapter);
  const [first, second] = [instruct('organisation'), instruct('organisation')];
  await rail.sendTransfer(first);
  await expect(rail.sendTransfer(second)).rejects.toMatchObject({ why: 'underfunded' });
  expect(sent).toEqual([first.reference]);
});
