// The public addresses of the payment pages, as settings.
import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config.ts';

const read = (more: Record<string, string>) =>
  readConfig({ DATABASE_URL: 'postgres://db/manilla', MANILLA_KEYS: `k1:${'A'.repeat(43)}`, ...more }).checkout.origins;

test.each([
  ['nothing', {}, ['http://127.0.0.1:8080', 'http://127.0.0.1:8081']],
  ['ports', { SANDBOX_PORT: '1', LIVE_PORT: '2' }, ['http://127.0.0.1:1', 'http://127.0.0.1:2']],
  [
    'the hosts of a proxy',
    { SANDBOX_HOST: 'sandbox.example.com', LIVE_HOST: 'api.example.com' },
    ['https://sandbox.example.com', 'https://api.example.com'],
  ],
  [
    'addresses of their own',
    { SANDBOX_HOST: 'x.example.com', SANDBOX_CHECKOUT_URL: 'https://a.example.com/', LIVE_CHECKOUT_URL: 'http://b:81' },
    ['https://a.example.com', 'http://b:81'],
  ],
])('with %s, pages are at these', (_, settings, [sandbox, live]) => {
  expect(read(settings)).toEqual({ test: sandbox, live });
});

test.each(['https://pay.example.com/pages', 'https://pay.example.com/?a=1', 'ftp://pay.example.com', 'pay'])(
  '%s is refused',
  (address) => {
    expect(() => read({ LIVE_CHECKOUT_URL: address })).toThrow('LIVE_CHECKOUT_URL');
  },
);
