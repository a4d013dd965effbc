// The Temporal server of the test stack is started as that of `npm start` is: with everything the flows count on.
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { freePort } from '../../dev/freePort.ts';
import { checkTemporal, DEFAULT_NAMESPACE, SEARCH_ATTRIBUTES, workerPolls } from '../../dev/temporal.ts';
import * as used from '../../src/workflows/searchAttributes.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

test('the list of search attributes has every one that is defined, and each is registered with its type', () => {
  const { SEARCH_ATTRIBUTES: listed, flowAttributes: _flowAttributes, ...defined } = used;
  expect(listed).toEqual(Object.values(defined));
  expect(listed.map(({ name, type }) => [name, type])).toEqual(
    Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, type.toUpperCase()]),
  );
});

test('a namespace without our search attributes gets them, as one of the user’s own does', async () => {
  const { temporalAddress: address } = testStack();
  const namespace = `test-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    // The server takes some seconds to know a new namespace everywhere.
    await waitFor('the namespace is usable', () =>
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

test('a server that is not there is an error, soon', async () => {
  const port = await freePort();
  await expect(checkTemporal(`127.0.0.1:${port}`, DEFAULT_NAMESPACE)).rejects.toThrow(/connect/i);
});

test('a task queue that nobody polls has no worker', async () => {
  const { temporalAddress } = testStack();
  expect(await workerPolls(temporalAddress, DEFAULT_NAMESPACE, 'nobody-here', new Date())).toBe(false);
});
