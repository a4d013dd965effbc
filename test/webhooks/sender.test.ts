// Single delivery attempts over real HTTP on loopback, including receivers that misbehave.

import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Resolve } from '../../src/webhooks/addressGuard.ts';
import type { DestinationRules } from '../../src/webhooks/destination.ts';
import { createSender, describeAttempt, wasDelivered } from '../../src/webhooks/sender.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, type Receiver, startReceiver } from './receiver.ts';

const PRIVATE_ALLOWED: DestinationRules = { httpsOnly: false, addresses: 'private_too' };
const PUBLIC_ONLY: DestinationRules = { httpsOnly: false, addresses: 'public_only' };

const closers: { close: () => Promise<void> }[] = [];
afterEach(() => Promise.all(closers.splice(0).map((each) => each.close())));

async function receiver(...answering: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...answering);
  closers.push(started);
  return started;
}

/** A TCP server that sends whatever the test specifies. */
async function bareServer(respond: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    respond(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.push({
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const send = createSender({ rules: PRIVATE_ALLOWED });
const sendQuickly = createSender({ rules: PRIVATE_ALLOWED, timeoutMs: 200 });

describe('requests', () => {
  test('a delivery is a POST of the unchanged body with the given headers', async () => {
    const target = await receiver();
    await send(`${target.url}?a=b`, { 'webhook-id': 'x' }, '{"naïve": "₦"}');
    expect(target.received).toMatchObject([
      {
        method: 'POST',
        path: '/hook?a=b',
        body: '{"naïve": "₦"}',
        headers: { 'webhook-id': 'x', 'content-type': 'application/json', 'user-agent': 'Manilla-Webhooks' },
      },
    ]);
  });
});

describe('connections', () => {
  const OK = 'HTTP/1.1 204 No Content\r\n\r\n';

  test('are kept, and one that the endpoint closes at the next request costs no attempt', async () => {
    const requests: number[] = [];
    let connections = 0;
    const url = await bareServer((socket) => {
      connections += 1;
      const connection = connections;
      socket.on('data', () => {
        requests.push(connection);
        if (connection === 1 && requests.length > 2) socket.resetAndDestroy();
        else socket.write(OK);
      });
    });
    const results = [];
    for (let count = 0; count < 4; count += 1) results.push(await send(url, {}, '{}'));
    expect(results.map(({ responseStatus }) => responseStatus)).toEqual([204, 204, 204, 204]);
    expect(requests).toEqual([1, 1, 1, 2, 2]);
  });

  test('several kept ones that were closed are replaced, each request once for each of them', async () => {
    let closing = false;
    const url = await bareServer((socket) => {
      const isOld = !closing;
      socket.on('data', () => (closing && isOld ? socket.destroy() : socket.write(OK)));
    });
    await Promise.all(Array.from({ length: 5 }, () => send(url, {}, '{}')));
    closing = true;
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: 204, error: null });
  });

  test('a response that goes on after 100 Continue or early hints counts by its last status', async () => {
    const informed = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const url = await bareServer((socket) => void socket.once('data', () => socket.write(informed + OK)));
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: 204, error: null });
  });
});

describe('response statuses', () => {
  test.each([200, 201, 202, 204, 299])('a response of %i counts as delivered', async (status) => {
    const target = await receiver(answerStatus(status, status === 204 ? '' : 'thanks'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: status, responseBody: status === 204 ? '' : 'thanks', error: null });
    expect(wasDelivered(result)).toBe(true);
  });

  test.each([300, 400, 401, 404, 410, 429, 500, 503])('a response of %i counts as failed', async (status) => {
    const target = await receiver(answerStatus(status, 'no'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: status, responseBody: 'no' });
    expect([wasDelivered(result), describeAttempt(result)]).toEqual([false, `answered ${status}`]);
  });

  test.each([301, 302, 303, 307, 308])('a redirect of %i is not followed and counts as failed', async (status) => {
    const redirectTarget = await receiver();
    const target = await receiver(
      (response) => void response.writeHead(status, { location: redirectTarget.url }).end(),
    );
    const result = await send(target.url, {}, '{}');
    expect(result.responseStatus).toBe(status);
    expect(wasDelivered(result)).toBe(false);
    expect(redirectTarget.received).toEqual([]);
  });
});

describe('response bodies', () => {
  test('a large response body is truncated, and the event counts as delivered', async () => {
    const target = await receiver((response) => void response.end('x'.repeat(5_000_000)));
    const result = await send(target.url, {}, '{}');
    expect(result.responseStatus).toBe(200);
    expect(result.responseBody).toBe('x'.repeat(1_000));
  });

  test('an endless response body is truncated, and the event counts as delivered', async () => {
    const chunk = Buffer.alloc(1_000_000, 'y');
    let closed = false;
    let written = 0;
    const target = await receiver((response) => {
      response.on('close', () => {
        closed = true;
      });
      const more = () => {
        written += chunk.length;
        if (!response.destroyed && response.write(chunk)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: 200, responseBody: 'y'.repeat(1_000) });
    await waitFor('the connection to be closed', () => closed);
    // Only what the socket buffers accepted, rather than a second's worth.
    expect(written).toBeLessThan(20_000_000);
  });

  test('an incomplete response body is delivered after a short wait', async () => {
    const target = await receiver((response) => void response.writeHead(200).write('well'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: 200, responseBody: 'well', error: null });
    expect(result.durationMs).toBeLessThan(10_000); // the timeout of a whole attempt
  });

  test('a response body is stored as text that Postgres accepts, whatever its bytes', async () => {
    const target = await receiver((response) => void response.end(Buffer.from([0x61, 0x00, 0xff, 0x62, 0xe2, 0x82])));
    expect((await send(target.url, {}, '{}')).responseBody).toBe('a\u{fffd}b');
  });

  test('endless response headers are answer_unreadable', async () => {
    const url = await bareServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => {
        if (!socket.destroyed && socket.write(`x-filler: ${'z'.repeat(4_000)}\r\n`)) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
    });
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'answer_unreadable' });
  });

  test('a response that is not HTTP is answer_unreadable', async () => {
    const url = await bareServer((socket) => void socket.once('data', () => socket.end('220 mail.example ESMTP\r\n')));
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'answer_unreadable' });
  });
});

describe('missing responses', () => {
  test('no response within the timeout is a timeout', async () => {
    const target = await receiver(() => {});
    const result = await sendQuickly(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: null, error: 'timeout' });
    expect(result.durationMs).toBeGreaterThanOrEqual(190);
  });

  test('a slow trickle of response headers is a timeout', async () => {
    const url = await bareServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      const timer = setInterval(() => socket.write('z'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await sendQuickly(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'timeout' });
  });

  test('a closed port is connection_failed', async () => {
    const target = await startReceiver();
    await target.close();
    expect(await send(target.url, {}, '{}')).toMatchObject({ error: 'connection_failed' });
  });

  test('a connection reset is connection_lost', async () => {
    const url = await bareServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    expect(await send(url, {}, '{}')).toMatchObject({ error: 'connection_lost' });
  });

  test('a 101 response that was not requested is connection_lost', async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
    const url = await bareServer((socket) => void socket.once('data', () => socket.write(upgrade)));
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'connection_lost' });
  });

  test('an https URL of a server without TLS is tls_failed', async () => {
    const url = await bareServer(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    expect(await send(url.replace('http:', 'https:'), {}, '{}')).toMatchObject({ error: 'tls_failed' });
  });
});

describe('forbidden destinations', () => {
  test.each(['http://127.0.0.1:PORT/', 'http://localhost:PORT/', 'http://user:word@example.com/', 'no URL'])(
    'nothing is sent to the forbidden URL %s',
    async (url) => {
      const target = await receiver();
      const result = await createSender({ rules: PUBLIC_ONLY })(url.replace('PORT', String(target.port)), {}, '{}');
      expect(result).toMatchObject({ responseStatus: null, error: 'url_forbidden' });
      expect(target.received).toEqual([]);
    },
  );

  test('a public name that resolves to a forbidden address is refused when connecting', async () => {
    const target = await receiver();
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const result = await createSender({ rules: PUBLIC_ONLY, resolve })(`http://name.example:${target.port}/`, {}, '{}');
    expect(result.error).toBe('address_forbidden');
    expect(target.received).toEqual([]);
  });

  test('DNS rebinding: a name that resolves to a forbidden address on a later attempt is refused', async () => {
    const target = await receiver((response) => void response.writeHead(200, { connection: 'close' }).end());
    const answers = ['127.0.0.1', '169.254.169.254'];
    let lookups = 0;
    const resolve: Resolve = async () => {
      lookups += 1;
      return [{ address: answers.shift() ?? '', family: 4 }];
    };
    const sendAgain = createSender({ rules: PRIVATE_ALLOWED, resolve });
    const url = `http://rebind.example:${target.port}/`;
    expect((await sendAgain(url, {}, '{}')).responseStatus).toBe(200);
    // The checked address is the one that was used.
    expect(lookups).toBe(1);
    expect((await sendAgain(url, {}, '{}')).error).toBe('address_forbidden');
    expect(target.received).toHaveLength(1);
  });

  test('a sender with stricter rules does not reuse the connections of another', async () => {
    const target = await receiver();
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const url = `http://name.example:${target.port}/`;
    expect((await createSender({ rules: PRIVATE_ALLOWED, resolve })(url, {}, '{}')).responseStatus).toBe(200);
    expect((await createSender({ rules: PUBLIC_ONLY, resolve })(url, {}, '{}')).error).toBe('address_forbidden');
  });

  test('an unresolvable name is name_not_resolved rather than address_forbidden', async () => {
    const resolve: Resolve = async () => [];
    const result = await createSender({ rules: PUBLIC_ONLY, resolve })('https://nowhere.example/', {}, '{}');
    expect(result.error).toBe('name_not_resolved');
  });
});
