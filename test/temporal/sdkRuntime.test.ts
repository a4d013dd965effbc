// The SDK exports its metrics as long as the process runs, also without a connection to Temporal. It would end its
// runtime otherwise, and a worker that waits for Temporal would try for ever once another process has the port.
import { expect, test } from '@jest/globals';
import { NativeConnection } from '@temporalio/worker';
import { freePort } from '../../dev/freePort.ts';
import { readSdkMetrics } from '../../src/temporal/sdkRuntime.ts';
import { testStack } from '../support/stack.ts';
import '../support/temporalRuntime.ts';

const connectTo = (address: string) => NativeConnection.connect({ address });

test('the SDK exports its metrics after its last connection was closed, and after one that failed', async () => {
  await (await connectTo(testStack().temporalAddress)).close();
  expect(await readSdkMetrics()).toContain('temporal_request');
  await expect(connectTo(`127.0.0.1:${await freePort()}`)).rejects.toThrow('refused');
  expect(await readSdkMetrics()).toContain('temporal_request');
});
