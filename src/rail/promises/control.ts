// What promises share that only a fake of the provider can put to the test.
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { RailCallError } from '../errors.ts';
import type { TransferReport } from '../port.ts';
import type { RailHarness } from './harness.ts';
import type { ControlledHarness } from './promise.ts';

const POLL_EVERY_MS = 20;
const WAIT_MAX_MS = 60_000;

/** Polls until the result is neither null nor false. */
export async function until<Found>(
  { pause }: Pick<RailHarness, 'pause'>,
  what: string,
  look: () => Promise<Found | null | false> | Found | null | false,
): Promise<Found> {
  const startedAt = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found;
    assert.ok(performance.now() - startedAt < WAIT_MAX_MS, `timed out waiting for ${what}`);
    await pause(POLL_EVERY_MS);
  }
}

/** The call must fail with this error of the port, and its error must have no secret in it. */
export async function fails(
  { control }: ControlledHarness,
  name: RailCallError['name'],
  call: Promise<unknown>,
): Promise<RailCallError> {
  const error = await call.then(
    (result) => assert.fail(`the call must fail with ${name}, but returned ${inspect(result)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RailCallError, `the call must fail with ${name}, but threw ${inspect(error)}`);
  assert.equal(error.name, name);
  const text = inspect(error, { depth: 20, showHidden: true });
  for (const secret of control.secrets) assert.ok(!text.includes(secret), 'the error has a secret in it');
  return error;
}

export const statusOf = ({ rail, organisationId }: RailHarness, reference: string): Promise<TransferReport | null> =>
  rail.transferStatus({ organisationId, reference });

export const untilStatus = (
  harness: RailHarness,
  reference: string,
  ...statuses: TransferReport['status'][]
): Promise<TransferReport> =>
  until(harness, `${reference} to be ${statuses.join(' or ')}`, async () => {
    const report = await statusOf(harness, reference);
    return report !== null && statuses.includes(report.status) && report;
  });
