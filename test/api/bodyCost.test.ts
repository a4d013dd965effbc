// Hostile bodies: what a request costs the process is in proportion to its size, whatever its bytes are.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { PAYOUT_BYTES_MAX } from '../../src/api/payoutRequest.ts';
import { type Cost, HOSTILE } from './bodyCosts.ts';

const PROGRAM = fileURLToPath(new URL('./bodyCosts.ts', import.meta.url));
const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
const costs = JSON.parse(stdout) as Record<string, Cost>;

describe.each(Object.keys(HOSTILE))('%s', (name) => {
  const { ordinary, hostile, refusalBytes } = costs[name] as Cost;

  test('costs no more for each byte than an ordinary payout', () => {
    expect(hostile).toBeLessThan(1.5 * ordinary);
  });

  test('is refused in fewer bytes than it has', () => {
    expect(refusalBytes).toBeLessThan(PAYOUT_BYTES_MAX / 2);
  });
});
