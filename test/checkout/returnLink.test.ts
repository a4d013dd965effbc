// The return link: which addresses a payment may lead back to, and what is added to them.
import { describe, expect, test } from '@jest/globals';
import { requireReturnUrl, returnLink } from '../../src/api/checkout/returnLink.ts';
import type { Environment } from '../../src/money.ts';

describe('a return URL', () => {
  test.each<[string, Environment[]]>([
    ['https://shop.example/thanks?order=7', ['test', 'live']],
    ['https://localhost/', ['test', 'live']],
    ['http://localhost:3000/thanks', ['test']],
    ['http://shop.localhost/', ['test']],
    ['http://127.0.0.1:3000/', ['test']],
    ['http://[::1]:3000/', ['test']],
    ['http://shop.example/', []],
    ['http://localhost.example/', []],
    ['http://127.0.0.1.example/', []],
    ['https://user:secret@shop.example/', []],
    ['https://user@shop.example/', []],
  ])('%s is allowed in %j', (url, environments) => {
    const allowed = (['test', 'live'] as const).filter((environment) => {
      try {
        requireReturnUrl(environment, url);
        return true;
      } catch {
        return false;
      }
    });
    expect(allowed).toEqual(environments);
  });
});

describe('a return link', () => {
  const signature = { 'webhook-id': 'svc_1_pay', 'webhook-timestamp': '1', 'webhook-signature': 'v1,a+b= v1,c/d=' };

  test('keeps the query and the fragment of the address', () => {
    const link = new URL(returnLink('https://shop.example/thanks?order=7#top', '{"a":1}', signature));
    expect([link.origin, link.pathname, link.hash]).toEqual(['https://shop.example', '/thanks', '#top']);
    expect(Object.fromEntries(link.searchParams)).toEqual({ order: '7', result: '{"a":1}', ...signature });
  });

  test('leaves the query as the caller wrote it', () => {
    const link = returnLink('https://shop.example/?a=1+2&b=%20%2F&c&sig=x%3D%3D', '{}', null);
    expect(link).toBe('https://shop.example/?a=1+2&b=%20%2F&c&sig=x%3D%3D&result=%7B%7D');
  });

  test('replaces parameters of the address that have its own names', () => {
    const link = new URL(returnLink('https://shop.example/?result=paid&webhook-id=1', '{}', signature));
    expect(link.searchParams.getAll('result')).toEqual(['{}']);
    expect(link.searchParams.getAll('webhook-id')).toEqual(['svc_1_pay']);
  });

  test('has no signature where there is no secret', () => {
    expect(returnLink('https://shop.example/', '{}', null)).toBe('https://shop.example/?result=%7B%7D');
  });
});
