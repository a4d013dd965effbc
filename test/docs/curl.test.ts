// The documentation pages with requests, executed verbatim: each block with curl, in order, against the API, a worker
// and the sandbox bank. The HTML comment before a block has the expected status, expected fields, and values that later
// blocks use.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const run = promisify(execFile);

const PAGES = ['api.md', 'sandbox.md'];

interface Block {
  title: string;
  status: number;
  /** `path=value`: an expected field; `NAME=path`: a value to store. */
  expectations: [string, string][];
  script: string;
}

const readPage = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/<!-- run: (\d+)([^>]*) -->\n```sh\n([\s\S]*?)```/g)].map((match) => {
    const [, status, expectations, script] = match as unknown as [string, string, string, string];
    const heading =
      page
        .slice(0, match.index)
        .match(/^## .*$/gm)
        ?.at(-1) ?? '';
    return {
      title: `${heading.slice(3)}: ${script.split(' -H')[0]?.trim()}`,
      status: Number(status),
      expectations: expectations
        .trim()
        .split(/\s+/)
        .filter(Boolean)
        .map((text) => text.split('=', 2) as [string, string]),
      script,
    };
  });

const flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });

afterAll(() => flows.close());

const valueAt = (answer: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], answer);

const isName = (text: string): boolean => /^[A-Z]+$/.test(text);

describe.each(PAGES)('docs/%s', (name) => {
  const page = readPage(name);
  const blocks = blocksOf(page);
  const variables: Record<string, string> = {};
  const expand = (text: string): string =>
    text.replaceAll(/\$([A-Z]+)/g, (_, variable: string) => variables[variable] ?? '');

  beforeAll(() => {
    variables.API = flows.urls.test;
    variables.KEY = flows.test.key ?? '';
  });

  test('every block with curl has an expected response', () => {
    expect(page.match(/^curl /gm)).toHaveLength(blocks.length);
  });

  test.each(blocks)('the example "$title" has the documented response', async ({ status, expectations, script }) => {
    const fields = expectations.filter(([left]) => !isName(left));
    const answer = await waitFor(`the answer ${status} with ${JSON.stringify(fields)}`, async () => {
      const { stdout } = await run('bash', ['-c', script.replace('curl -s', "curl -s -w '\\n%{http_code}'")], {
        env: { ...process.env, ...variables },
      });
      const [body = '', code] = stdout.split(/\n(?=\d{3}$)/);
      expect({ code: Number(code), body }).toEqual({ code: status, body });
      const read: unknown = JSON.parse(body);
      return fields.every(([path, value]) => String(valueAt(read, path)) === expand(value)) && (read as object);
    });
    for (const [variable, path] of expectations.filter(([left]) => isName(left))) {
      variables[variable] = String(valueAt(answer, path));
    }
  });
});
