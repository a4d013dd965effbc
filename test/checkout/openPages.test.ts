// The open pages of a process: they are kept from looking idle, and a reader that takes nothing is given up.
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, expect, test } from '@jest/globals';
import { OpenPages } from '../../src/api/checkout/openPages.ts';
import { newUuid } from '../../src/ids.ts';
import { waitFor } from '../support/waitFor.ts';

let pages: OpenPages;

afterEach(() => pages.close());

const payment = () => ({ book: { organisationId: newUuid(), environment: 'test' as const }, paymentId: newUuid() });

/** The part of a response that is used. */
function openResponse(): { response: ServerResponse; text: () => string; stream: PassThrough } {
  const stream = new PassThrough({ highWaterMark: 1 });
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  return { response: stream as unknown as ServerResponse, text: () => text, stream };
}

const open = (readChanges: ConstructorParameters<typeof OpenPages>[0]['readChanges']) =>
  new OpenPages({ readChanges, pagesMax: 10, onError: () => {}, lookEveryMs: 5, quietMaxMs: 0 });

test('a quiet page gets comments, also while the changes cannot be read', async () => {
  let looks = 0;
  pages = open(() => {
    looks += 1;
    return Promise.reject(new Error('no database'));
  });
  const { response, text } = openResponse();
  pages.add(response, payment(), 1);
  await waitFor('two comments', () => text().split(':\n\n').length > 3);
  expect(text()).toMatch(/^retry: \d+\n\n(:\n\n)+$/);
  expect(looks).toBeGreaterThan(1);
});

test('a reader that takes nothing is disconnected', async () => {
  pages = open(() => Promise.resolve([]));
  const { response, stream } = openResponse();
  stream.pause();
  stream.write('x'.repeat(20_000));
  pages.add(response, payment(), 1);
  await waitFor('the connection to be closed', () => stream.destroyed);
});

test('the payments that are looked for are those of open pages, with the oldest version that one shows', async () => {
  const looked: string[] = [];
  const one = payment();
  pages = open((seen) => {
    looked.push(
      seen.map(({ paymentId, version }) => `${paymentId === one.paymentId ? 'one' : 'other'} ${version}`).join(),
    );
    return Promise.resolve([]);
  });
  const [newer, older, other] = [openResponse(), openResponse(), openResponse()];
  pages.add(newer.response, one, 5);
  pages.add(older.response, one, 3);
  pages.add(other.response, payment(), 1);
  await waitFor('a look', () => looked.at(-1) === 'one 3,other 1');
  other.stream.destroy();
  await waitFor('a look without the closed page', () => looked.at(-1) === 'one 3');
  newer.stream.destroy();
  older.stream.destroy();
  await waitFor('no page', () => newer.stream.closed && older.stream.closed);
  expect(looked.every((look) => look.includes('one'))).toBe(true);
});

test('without a page nothing is looked for', async () => {
  let looks = 0;
  pages = open(() => {
    looks += 1;
    return Promise.resolve([]);
  });
  let looksOfOther = 0;
  const other = open(() => {
    looksOfOther += 1;
    return Promise.resolve([]);
  });
  const [closed, kept] = [openResponse(), openResponse()];
  pages.add(closed.response, payment(), 1);
  other.add(kept.response, payment(), 1);
  await waitFor('a look', () => looks > 0);
  closed.stream.destroy();
  await waitFor('the page to be closed', () => closed.stream.closed);
  const since = looksOfOther;
  await waitFor('a look that was under way', () => looksOfOther > since + 2);
  const before = looks;
  await waitFor('looks of others', () => looksOfOther > since + 12);
  other.close();
  expect(looks).toBe(before);
});
