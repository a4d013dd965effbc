// A worker that starts with a namespace which cannot be used says in one line what to do, and waits.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { requireFlowsCanStart } from '../../src/temporal/namespace.ts';
import { SEARCH_ATTRIBUTES } from '../../src/workflows/searchAttributes.ts';
import { createDatabase, testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const WORKER = fileURLToPath(new URL('../../src/worker/main.ts', import.meta.url));

const database = await createDatabase();
const connection = await Connection.connect({ address: testStack().temporalAddress });

afterAll(async () => {
  await connection.close();
  await database.drop();
});

/** Starts a worker process, and returns the first line that it logs as an error. */
async function complaintIn(namespace: string): Promise<string> {
  const worker = spawn(process.execPath, [WORKER], {
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: testStack().temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = new Promise((resolve) => worker.once('exit', resolve));
  let output = '';
  worker.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  try {
    return await waitFor('the worker to complain', () => {
      const lines = output.split('\n').slice(0, -1);
      const errors = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
      return errors.find(({ level }) => level === 50)?.msg;
    });
  } finally {
    worker.kill();
    await exited;
  }
}

test('a namespace without the search attributes: the line has the command that adds them', async () => {
  const namespace = `test-${randomUUID()}`;
  const retention = { workflowExecutionRetentionPeriod: msToTs('1 day') };
  await connection.workflowService.registerNamespace({ namespace, ...retention });
  // A new namespace takes some seconds to be known by the whole server.
  await waitFor('the namespace to be usable', () =>
    requireFlowsCanStart(connection, namespace, 5_000).then(
      () => true,
      () => false,
    ),
  );
  const complaint = await complaintIn(namespace);
  expect(complaint).toMatch(
    new RegExp(
      `The namespace ${namespace} .* lacks search attributes\\. Run: temporal operator search-attribute create`,
    ),
  );
  const names = [...complaint.matchAll(/--name (\w+) --type \w+/g)].map(([, name]) => name);
  expect(names).toEqual(SEARCH_ATTRIBUTES.map(({ name }) => name));
});

test('a namespace that does not exist: the line has the setting and the command that creates it', async () => {
  expect(await complaintIn('absent')).toMatch(
    /has no namespace absent\. Set TEMPORAL_NAMESPACE, or run: temporal operator namespace create .*--namespace absent/,
  );
});
