// The runtime of the Temporal SDK, of which a process has one: its first test file that needs one installs it for all.
import { DefaultLogger, makeTelemetryFilterString } from '@temporalio/worker';
import { installWithMetrics } from '../../src/temporal/sdkRuntime.ts';

await installWithMetrics({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  // Workflows that tests terminate cause warnings of the core about missing tasks.
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});
