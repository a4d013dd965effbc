// The runtime of the Temporal SDK, of which a process has one: its first test file that needs one installs it for all.
import { Script } from 'node:vm';
import { DefaultLogger, makeTelemetryFilterString } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { installWithMetrics } from '../../src/temporal/sdkRuntime.ts';

// Where workflows run in this thread, the SDK would observe each of its promises, for stack traces, which is slow.
globalHandlers.install = () => {};

/** The time limit of the SDK for a call into a workflow with TEMPORAL_DEBUG, in ms: 50 days. */
const NO_LIMIT = 2 ** 32 - 1;
const runInContext = Reflect.get(Script.prototype, 'runInContext');
// Node starts a thread for each call with a time limit, which takes a hundred times as long as the call.
Script.prototype.runInContext = function (context, options) {
  const { timeout, ...others } = options ?? {};
  return runInContext.call(this, context, timeout === NO_LIMIT ? others : options);
};

await installWithMetrics({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  // Workflows that tests terminate cause warnings of the core about missing tasks.
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});
