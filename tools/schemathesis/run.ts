// `npm run schemathesis`: random and boundary requests to every operation of the OpenAPI document, against the API and
// a worker on the stack of the tests. Fails on a 5xx and on any answer that is not documented.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { answerVersion } from '../../src/release.ts';
import { startTestFlows, type TestFlows } from '../../test/support/flows.ts';
import globalSetup from '../../test/support/globalSetup.ts';
import globalTeardown from '../../test/support/globalTeardown.ts';
import { installPythonPackages, runShown } from '../pythonPackages.ts';

/** The budget of the run; the first requests to every operation are sent even if they take longer. */
const SECONDS = 100;
/** The same requests every time, so that a failure is about the change. `-- --seed 2` for others. */
const SEED = '1';

/** No `unsupported_method`: the contract answers 404, not 405. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

/** Writes settings with ids that exist, so that requests for a part of a resource reach past the 404. */
async function writeSettings({ test, createWallet }: TestFlows, folder: string): Promise<string> {
  const walletId = await createWallet(test, { balance: 1_000_000 });
  const [payment, endpoint] = await Promise.all([
    test.money('/payments', { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: walletId }),
    test.post('/webhook-endpoints', { url: 'http://127.0.0.1:9000/' }),
    test.money(`/wallets/${walletId}/transfer`, { amount: 1, destinationWalletId: await createWallet(test) }),
  ]);
  const event = (await test.get('/events')).items[0];
  // Not the key of the run, which a response names as the maker of another.
  const key = (await test.post('/api-keys', { scopes: ['wallet:read'] })).data.id;
  const ids = {
    wallets: walletId,
    payments: payment.data.id,
    'webhook-endpoints': endpoint.data.id,
    events: event?.id,
  };
  const section = (path: string, id: unknown): string =>
    ['[[operations]]', `include-path-regex = '^/${path}'`, `parameters = { "path.id" = "${String(id)}" }`].join('\n');
  const sections = Object.entries(ids).map(([segment, id]) => section(`${segment}/\\{id\\}/`, id));
  sections.push(section('api-keys/\\{id\\}', key));
  const file = path.join(folder, 'schemathesis.toml');
  writeFileSync(file, `${sections.join('\n\n')}\n`);
  return file;
}

async function main(): Promise<number> {
  const programs = await installPythonPackages('schemathesis');
  await globalSetup();
  try {
    const flows = await startTestFlows({ logLevel: 'error' });
    try {
      const authorization = `Authorization: Bearer ${flows.test.key}`;
      const settings = await writeSettings(flows, path.dirname(programs));
      return await runShown(path.join(programs, 'schemathesis'), [
        `--config-file=${settings}`,
        'run',
        `${flows.urls.test}/openapi.json`,
        `--url=${flows.urls.test}`,
        `--header=${authorization}`,
        `--checks=${CHECKS.join(',')}`,
        '--phases=examples,coverage,fuzzing',
        // With several threads, Python 3.11 fails in ast.parse ("AST constructor recursion depth mismatch").
        '--workers=1',
        '--request-retries=2',
        `--max-time=${SECONDS}`,
        `--seed=${SEED}`,
        '--generation-database=none',
        '--no-color',
        ...process.argv.slice(2),
      ]);
    } finally {
      await flows.close();
    }
  } finally {
    await globalTeardown();
  }
}

answerVersion();
process.exitCode = await main();
