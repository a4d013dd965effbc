// How the benchmark speaks to other ledgers: what it sends, which answers it counts, what it holds their money against,
// and that one that fails costs a line and not the run.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WALLETS } from '../../bench/book.ts';
import { runLoad } from '../../bench/load.ts';
import { measureInterleaved } from '../../bench/measure.ts';
import { blnkTransfer, judgeBlnk } from '../../bench/others/blnk.ts';
import { formanceTransfer, judgeFormance } from '../../bench/others/formance.ts';
import { FUNDS, findWrongMoney, HOT_FUNDS, type Standing, type Verdict } from '../../bench/others/otherBook.ts';
import { openOtherLedgers } from '../../bench/others/otherLedgers.ts';

describe('a transfer', () => {
  test('to Formance is one posting in minor units, under an idempotency key of its own', () => {
    const one = formanceTransfer('bench-1', 'hot', 'wallets:7', 250);
    expect(one).toMatchObject({ method: 'POST', path: '/v2/bench-1/transactions' });
    expect(JSON.parse(one.body ?? '')).toEqual({
      postings: [{ source: 'hot', destination: 'wallets:7', amount: 250, asset: 'NGN/2' }],
      metadata: {},
    });
    const other = formanceTransfer('bench-1', 'hot', 'wallets:7', 250);
    expect(other.headers['idempotency-key']).not.toBe(one.headers['idempotency-key']);
  });

  test('to Blnk is synchronous, in minor units, with the key and a reference of its own', () => {
    const one = blnkTransfer({ 'x-blnk-key': 'secret' }, 'bln_1', 'bln_2', 29);
    expect(one).toMatchObject({ method: 'POST', path: '/transactions', headers: { 'x-blnk-key': 'secret' } });
    const sent = JSON.parse(one.body ?? '');
    expect(sent).toMatchObject({
      source: 'bln_1',
      destination: 'bln_2',
      precise_amount: 29,
      precision: 100,
      currency: 'NGN',
      skip_queue: true,
    });
    // Either this or `precise_amount`, says its documentation.
    expect(sent).not.toHaveProperty('amount');
    expect(JSON.parse(blnkTransfer({}, 'bln_1', 'bln_2', 29).body ?? '').reference).not.toBe(sent.reference);
  });
});

const formancePosted = '{"data":{"id":12,"postings":[{"amount":250,"asset":"NGN/2","source":"a","destination":"b"}]}}';

test.each<[string, number, string, Verdict]>([
  ['posted', 200, formancePosted, { posted: 250 }],
  ['not enough money', 400, '{"errorCode":"INSUFFICIENT_FUND"}', { refused: '400 INSUFFICIENT_FUND' }],
  ['no such ledger', 404, '{"errorCode":"LEDGER_NOT_FOUND"}', { refused: '404 LEDGER_NOT_FOUND' }],
  ['some other server', 200, '<html>Welcome</html>', { refused: '200 without a transaction' }],
  ['another JSON', 200, '{"data":[]}', { refused: '200 without a transaction' }],
  ['no JSON object', 200, 'null', { refused: '200 without a transaction' }],
])('an answer of Formance is judged: %s', (_, status, body, verdict) => {
  expect(judgeFormance(status, body)).toEqual(verdict);
});

test.each<[string, number, string, Verdict]>([
  ['applied', 201, '{"status":"APPLIED","precise_amount":250}', { posted: 250 }],
  ['only queued', 201, '{"status":"QUEUED","precise_amount":250}', { refused: '201 QUEUED' }],
  ['rejected', 201, '{"status":"REJECTED","precise_amount":250}', { refused: '201 REJECTED' }],
  [
    'the lock of the balance not had in time',
    423,
    '{"error":"lock wait timeout","error_detail":{"code":"GEN_RESOURCE_LOCKED"}}',
    { refused: '423 GEN_RESOURCE_LOCKED' },
  ],
  ['refused by a version without codes', 400, '{"error":"insufficient funds"}', { refused: '400 insufficient funds' }],
  ['some other server', 201, '', { refused: '201 without a transaction' }],
])('an answer of Blnk is judged: %s', (_, status, body, verdict) => {
  expect(judgeBlnk(status, body)).toEqual(verdict);
});

const funded = WALLETS * FUNDS + HOT_FUNDS;

const notMoved = (kobo: number): string => `it moved ${kobo} kobo, was asked for 1000 and answered that it posted 900`;

test.each<[string, Standing, string | undefined]>([
  ['all answered', { held: funded, throughHot: HOT_FUNDS + 900 }, undefined],
  ['some posted after the last answer', { held: funded, throughHot: HOT_FUNDS + 1_000 }, undefined],
  ['an answered one not posted', { held: funded, throughHot: HOT_FUNDS + 899 }, notMoved(899)],
  ['one posted twice', { held: funded, throughHot: HOT_FUNDS + 1_001 }, notMoved(1_001)],
  ['not told', { held: funded, throughHot: Number.NaN }, notMoved(Number.NaN)],
  [
    'lost',
    { held: funded - 1, throughHot: HOT_FUNDS + 900 },
    `its accounts hold ${funded - 1} kobo and were given ${funded}`,
  ],
])('money after a run that asked for 1000 kobo and was answered 900: %s', (_, standing, finding) => {
  expect(findWrongMoney(standing, { asked: 1_000, posted: 900 })).toBe(finding);
});

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server on a free port. */
async function serve(listener: RequestListener): Promise<{ url: string; stop: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  closers.push(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

describe('a ledger that cannot take part', () => {
  const linesOf = async (environment: Record<string, string>): Promise<string[]> => {
    const lines: string[] = [];
    expect(await openOtherLedgers(environment, (line) => lines.push(line))).toEqual([]);
    return lines;
  };

  test('is none when none is named', async () => {
    expect(await linesOf({})).toEqual([]);
  });

  test('with a URL that is none', async () => {
    expect(await linesOf({ FORMANCE_URL: 'localhost:3068', BLNK_URL: 'blnk' })).toEqual([
      'Formance did not take part: its URL is not one of http:// or https://',
      'Blnk did not take part: its URL is not one of http:// or https://',
    ]);
  });

  test('that nobody runs', async () => {
    const { url, stop } = await serve(() => {});
    stop();
    expect(await linesOf({ FORMANCE_URL: url })).toEqual([
      expect.stringMatching(/^Formance did not take part: POST \/v2\/bench-\w+: ECONNREFUSED$/),
    ]);
  });

  test('with a wrong key, which is not told', async () => {
    const { url } = await serve((request, response) => {
      response.statusCode = request.headers['x-blnk-key'] === 'right' ? 201 : 401;
      response.end('{"error_detail":{"code":"AUTH_INVALID_API_KEY"}}');
    });
    const lines = await linesOf({ BLNK_URL: url.replace('//', '//user:password@'), BLNK_KEY: 'wrong' });
    expect(lines).toEqual([expect.stringMatching(/^Blnk did .* was answered 401: .*AUTH_INVALID_API_KEY/)]);
    expect(lines.join()).not.toMatch(/wrong|password/);
  });

  test('because it is something else', async () => {
    const { url } = await serve((_, response) => response.end('<html>'));
    expect(await linesOf({ BLNK_URL: url })).toEqual([
      'Blnk did not take part: POST /ledgers was answered with something that is not JSON',
    ]);
  });
});

describe('a load', () => {
  const blnkLoad = (url: string) =>
    runLoad({
      url,
      connections: 2,
      seconds: 1,
      request: () => blnkTransfer({}, 'bln_1', 'bln_2', 250),
      judge: (status, body) => {
        const verdict = judgeBlnk(status, body);
        return 'refused' in verdict ? verdict.refused : undefined;
      },
    });

  test('counts what was applied', async () => {
    let applied = 0;
    const { url } = await serve((_, response) => {
      applied += 1;
      response.writeHead(201).end('{"status":"APPLIED","precise_amount":250}');
    });
    const { value } = await blnkLoad(url);
    expect(value).toBeGreaterThan(0);
    expect(value).toBeLessThanOrEqual(applied);
  });

  test('is no figure when answers of 2xx say that nothing was applied', async () => {
    const { url } = await serve((_, response) => response.writeHead(201).end('{"status":"QUEUED"}'));
    await expect(blnkLoad(url)).rejects.toThrow(/requests [\d,]+ failed: 201 QUEUED \([\d,]+\)$/);
  });

  test('is no figure when the server stops in the middle', async () => {
    let answers = 0;
    const server = await serve((_, response) => {
      answers += 1;
      response.writeHead(201).end('{"status":"APPLIED","precise_amount":250}');
      if (answers === 50) server.stop();
    });
    await expect(blnkLoad(server.url)).rejects.toThrow(/failed: no response \([\d,]+\)$/);
  });

  test('is no figure when the server takes requests and answers none', async () => {
    const { url } = await serve(() => {});
    await expect(blnkLoad(url)).rejects.toThrow(/no response in time$/);
  });
});

describe('series that take turns', () => {
  const steady = (name: string) => ({ name, unit: 'a', measure: () => Promise.resolve({ value: 7 }) });
  /** Warms up, measures one round and then fails. */
  const failing = () => {
    let calls = 0;
    const measure = () => {
      calls += 1;
      return calls < 3 ? Promise.resolve({ value: 1 }) : Promise.reject(new Error(`gone at ${calls}`));
    };
    return { name: 'failing', unit: 'a', measure };
  };

  test('go on without one that may be left out', async () => {
    const lines: string[] = [];
    const measured = await measureInterleaved(
      [steady('one'), { ...failing(), optional: ({ message }) => lines.push(message) }, steady('two')],
      3,
      () => {},
    );
    expect(measured.map(({ name, rounds }) => [name, rounds])).toEqual([
      ['one', [7, 7, 7]],
      ['two', [7, 7, 7]],
    ]);
    expect(lines).toEqual(['gone at 3']);
  });

  test('end with any other that fails', async () => {
    await expect(measureInterleaved([steady('one'), failing()], 3, () => {})).rejects.toThrow('gone at 3');
  });
});
