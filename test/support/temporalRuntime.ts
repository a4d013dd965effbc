// The runtime of the Temporal SDK, of which a process has one: its first test file that needs one installs it for all.
import { DefaultLogger, makeTelemetryFilterString } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { installWithMetrics } from '../../src/temporal/sdkRuntime.ts';

// Where workflows run in this thread, the SDK would observe each of its promises, for stack traces, which is slow.
globalHandlers.install = () => {};

await installWithMetrics({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  // Workflows that tests terminate cause warnings of the core about missing tasks.
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});
