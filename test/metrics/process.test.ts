// The metrics of the process itself, present from the first scrape.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/** Reads immediately: collections up to then are observed in a later turn of the event loop. */
const FIRST_SCRAPE = `
  import { registry, watchProcess } from '${new URL('../../src/telemetry/metrics.ts', import.meta.url).href}';
  watchProcess();
  console.log(JSON.stringify(await registry.getSingleMetric('manilla_nodejs_gc_duration_seconds').get()));`;

interface Metric {
  values: { metricName: string; labels: { kind: string }; value: number }[];
}

test('garbage collection metrics have a sample of each kind before the first collection', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', FIRST_SCRAPE]);
  const { values } = JSON.parse(stdout) as Metric;
  const counts = values.filter(({ metricName }) => metricName === 'manilla_nodejs_gc_duration_seconds_count');
  expect(counts.map(({ labels, value }) => [labels.kind, value])).toEqual([
    ['major', 0],
    ['minor', 0],
    ['incremental', 0],
    ['weakcb', 0],
  ]);
});
