// The page of results that the benchmark writes.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { resultsPage } from '../../bench/report.ts';

const folder = fileURLToPath(new URL('../../docs/performance/', import.meta.url));

test('docs/performance/results.md is what bench/report.ts makes of the committed figures', () => {
  const stages = ['ledger', 'sealing', 'http', 'checkout', 'flows', 'deliveries', 'growth'];
  expect(readFileSync(`${folder}results.md`, 'utf8')).toBe(resultsPage(folder, stages));
});
