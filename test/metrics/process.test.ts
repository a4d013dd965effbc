// The metrics of the process itself, present from the first scrape.
import { expect, test } from '@jest/globals';
import type { Histogram } from 'prom-client';
import { registry, watchProcess } from '../../src/telemetry/metrics.ts';

test('garbage collection metrics have a sample of each kind before the first collection', async () => {
  watchProcess();
  // Read immediately: collections up to now are observed in a later turn of the event loop.
  const metric = registry.getSingleMetric('manilla_nodejs_gc_duration_seconds') as Histogram;
  const { values } = await metric.get();
  const counts = values.filter(({ metricName }) => metricName === 'manilla_nodejs_gc_duration_seconds_count');
  expect(counts.map(({ labels, value }) => [labels.kind, value])).toEqual([
    ['major', 0],
    ['minor', 0],
    ['incremental', 0],
    ['weakcb', 0],
  ]);
});
