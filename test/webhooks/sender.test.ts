// One attempt over real HTTP on loopback, against receivers that behave badly in every way.

import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Resolve } from '../../src/webhooks/addressGuard.ts';
import type { DestinationRules } from '../../src/webhooks/destination.ts';
import { createSender, describeAttempt, wasDelivered } from '../../src/webhooks/sender.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, type Receiver, startReceiver } from './receiver.ts';

const LAPTOP: DestinationRules = { httpsOnly: false, addresses: 'private_too' };
const INTERNET: DestinationRules = { httpsOnly: false, addresses: 'public_only' };

const open: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function receiver(...answering: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...answering);
  open.push(started);
  return started;
}

/** A server that speaks whatever the test wants over a bare connection. */
async function bareServer(speak: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    speak(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  open.push({
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const send = createSender({ rules: LAPTOP });
const sendQuickly = createSender({ rules: LAPTOP, timeoutMs: 200 });

describe('what the receiver gets', () => {
  test('is a POST of the body as it is, with the given headers', async () => {
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

describe('an answer', () => {
  test.each([200, 201, 202, 204, 299])('of %i is delivered', async (status) => {
    const target = await receiver(answerStatus(status, status === 204 ? '' : 'thanks'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: status, responseBody: status === 204 ? '' : 'thanks', error: null });
    expect(wasDelivered(result)).toBe(true);
  });

  test.each([300, 400, 401, 404, 410, 429, 500, 503])('of %i is not', async (status) => {
    const target = await receiver(answerStatus(status, 'no'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: status, responseBody: 'no' });
    expect([wasDelivered(result), describeAttempt(result)]).toEqual([false, `answered ${status}`]);
  });

  test.each([301, 302, 303, 307, 308])('of %i is not followed', async (status) => {
    const elsewhere = await receiver();
    const target = await receiver((response) => void response.writeHead(status, { location: elsewhere.url }).end());
    const result = await send(target.url, {}, '{}');
    expect(result.responseStatus).toBe(status);
    expect(wasDelivered(result)).toBe(false);
    expect(elsewhere.received).toEqual([]);
  });
});

describe('a reply', () => {
  test('that is huge is cut, and still delivered', async () => {
    const target = await receiver((response) => void response.end('x'.repeat(5_000_000)));
    const result = await send(target.url, {}, '{}');
    expect(result.responseStatus).toBe(200);
    expect(result.responseBody).toBe('x'.repeat(1_000));
  });

  test('that never ends is cut, and still delivered', async () => {
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
    expect(written).toBeLessThan(20_000_000); // what the system's buffers took in, not a second's worth
  });

  test('that stops in the middle of its body is delivered after a short wait', async () => {
    const target = await receiver((response) => void response.writeHead(200).write('well'));
    const result = await send(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: 200, responseBody: 'well', error: null });
    expect(result.durationMs).toBeLessThan(10_000); // the limit of a whole attempt
  });

  test('is kept as text that Postgres can store, whatever its bytes', async () => {
    const target = await receiver((response) => void response.end(Buffer.from([0x61, 0x00, 0xff, 0x62, 0xe2, 0x82])));
    expect((await send(target.url, {}, '{}')).responseBody).toBe('a\u{fffd}b');
  });

  test('with headers without end is no answer', async () => {
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

  test('that is not HTTP is no answer', async () => {
    const url = await bareServer((socket) => void socket.once('data', () => socket.end('220 mail.example ESMTP\r\n')));
    expect(await send(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'answer_unreadable' });
  });
});

describe('no answer', () => {
  test('within the time limit is a timeout', async () => {
    const target = await receiver(() => {});
    const result = await sendQuickly(target.url, {}, '{}');
    expect(result).toMatchObject({ responseStatus: null, error: 'timeout' });
    expect(result.durationMs).toBeGreaterThanOrEqual(190);
  });

  test('but a drop of header now and then is a timeout too', async () => {
    const url = await bareServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      const timer = setInterval(() => socket.write('z'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await sendQuickly(url, {}, '{}')).toMatchObject({ responseStatus: null, error: 'timeout' });
  });

  test('from a port where nobody listens is a failed connection', async () => {
    const target = await startReceiver();
    await target.close();
    expect(await send(target.url, {}, '{}')).toMatchObject({ error: 'connection_failed' });
  });

  test('from a receiver that hangs up is a lost connection', async () => {
    const url = await bareServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    expect(await send(url, {}, '{}')).toMatchObject({ error: 'connection_lost' });
  });

  test('from a server that speaks no TLS under https is failed TLS', async () => {
    const url = await bareServer(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    expect(await send(url.replace('http:', 'https:'), {}, '{}')).toMatchObject({ error: 'tls_failed' });
  });
});

describe('a forbidden destination', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
    'http://user:word@example.com/',
    'no URL',
  ])('%s is sent nothing', async (url) => {
    const target = await receiver();
    const result = await createSender({ rules: INTERNET })(url.replace('PORT', String(target.port)), {}, '{}');
    expect(result).toMatchObject({ responseStatus: null, error: 'url_forbidden' });
    expect(target.received).toEqual([]);
  });

  test('behind a public name is found out by the connection itself', async () => {
    const target = await receiver();
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const result = await createSender({ rules: INTERNET, resolve })(`http://name.example:${target.port}/`, {}, '{}');
    expect(result.error).toBe('address_forbidden');
    expect(target.received).toEqual([]);
  });

  test('is refused when a name server gives a good address first and a bad one later', async () => {
    const target = await receiver((response) => void response.writeHead(200, { connection: 'close' }).end());
    const answers = ['127.0.0.1', '169.254.169.254'];
    let asked = 0;
    const resolve: Resolve = async () => {
      asked += 1;
      return [{ address: answers.shift() ?? '', family: 4 }];
    };
    const sendAgain = createSender({ rules: LAPTOP, resolve });
    const url = `http://rebind.example:${target.port}/`;
    expect((await sendAgain(url, {}, '{}')).responseStatus).toBe(200);
    expect(asked).toBe(1); // the address that was judged is the one that was used
    expect((await sendAgain(url, {}, '{}')).error).toBe('address_forbidden');
    expect(target.received).toHaveLength(1);
  });

  test('does not become reachable over a connection that other rules allowed', async () => {
    const target = await receiver();
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const url = `http://name.example:${target.port}/`;
    expect((await createSender({ rules: LAPTOP, resolve })(url, {}, '{}')).responseStatus).toBe(200);
    expect((await createSender({ rules: INTERNET, resolve })(url, {}, '{}')).error).toBe('address_forbidden');
  });

  test('is told apart from a name that does not resolve', async () => {
    const resolve: Resolve = async () => [];
    const result = await createSender({ rules: INTERNET, resolve })('https://nowhere.example/', {}, '{}');
    expect(result.error).toBe('name_not_resolved');
  });
});
