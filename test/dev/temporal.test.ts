// Requirements on the Temporal server, which the test stack starts as `npm start` does.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { freePort } from '../../dev/freePort.ts';
import { checkTemporal, SEARCH_ATTRIBUTES, workerPolls } from '../../dev/temporal.ts';
import { DEFAULT_NAMESPACE } from '../../src/temporal/profile.ts';
import * as used from '../../src/workflows/searchAttributes.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

test('the list of search attributes has every one that is defined, and each is registered with its type', () => {
  const { SEARCH_ATTRIBUTES: listed, flowAttributes: _flowAttributes, ...defined } = used;
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect(listed.toSorted(byName)).toEqual(Object.values(defined).toSorted(byName));
  expect(listed.map(({ name, type }) => [name, type])).toEqual(
    Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, type.toUpperCase()]),
  );
});

test("the search attributes are registered in a namespace that lacks them, such as a user's own", async () => {
  const { temporalAddress: address } = testStack();
  const namespace = `test-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    // A new namespace takes some seconds to be known by the whole server.
    await waitFor('the namespace to be usable', () =>
      checkTemporal(address, namespace).then(
        () => true,
        () => false,
      ),
    );
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes ?? {}).toSorted()).toEqual(Object.keys(SEARCH_ATTRIBUTES).toSorted());
  } finally {
    await connection.close();
  }
});

test('a server that does not exist is reported as an error without a long wait', async () => {
  const port = await freePort();
  await expect(checkTemporal(`127.0.0.1:${port}`, DEFAULT_NAMESPACE)).rejects.toThrow(/connect/i);
});

test('a task queue without pollers has no worker', async () => {
  const { temporalAddress } = testStack();
  expect(await workerPolls(temporalAddress, DEFAULT_NAMESPACE, 'nobody-here', new Date())).toBe(false);
});

test('the server that is built here takes every option that the embedded stack passes', () => {
  const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const passed = [...read('dev/temporal.ts').matchAll(/['`]--([a-z-]+)/g)].map(([, name]) => name);
  const declared = [...read('tools/temporal/main.go').matchAll(/flags\.\w+\((?:\w+, )?"([a-z-]+)"/g)];
  expect(passed).toContain('ui-ip');
  expect(passed.filter((name) => !declared.some(([, one]) => one === name))).toEqual([]);
});
