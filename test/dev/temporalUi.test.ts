// What `npm start` publishes of the Temporal UI.
import { expect, test } from '@jest/globals';
import { refuseRequest } from '../../dev/temporalUi.ts';

const FLOW = '/api/v1/namespaces/default/workflows/svc_x_wth';

test.each([
  ['GET', '/', 'localhost:8233', true],
  ['GET', '/namespaces/default/workflows', '127.0.0.1:8233', true],
  ['POST', `${FLOW}/update/resolve`, 'localhost:8233', true],
  ['POST', `${FLOW}/signal/retry?x=1`, 'localhost:8233', true],
  ['POST', `${FLOW}/terminate`, 'localhost:8233', true],
  ['POST', '/api/v1/namespaces/default/batch-operations/1', 'localhost:8233', true],
  ['GET', '/', 'evil.example', false],
  ['POST', FLOW, 'localhost:8233', false],
  ['POST', `${FLOW}/signal-with-start/retry`, 'localhost:8233', false],
  ['POST', `${FLOW}/signal/../../svc_y_wth`, 'localhost:8233', false],
  ['POST', `${FLOW}/signal/%2E%2e%2fx`, 'localhost:8233', false],
  ['POST', '/api/v1/namespaces/default/workflows/execute-multi-operation', 'localhost:8233', false],
  ['POST', '/api/v1/namespaces/default/activities/complete-by-id', 'localhost:8233', false],
  ['POST', '/api/v1/namespaces/default/schedules/x', 'localhost:8233', false],
  ['DELETE', '/api/v1/namespaces/default/schedules/x', 'localhost:8233', false],
] as const)('%s %s at %s is forwarded: %s', (method, url, host, isForwarded) => {
  expect(refuseRequest({ method, url, headers: { host } }, 8_233) === null).toBe(isForwarded);
});
