// Secrets are typed at a prompt that does not show them: `rail connect` on a real terminal, which Python's pty makes.
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { startTestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';

/** A prompt that is not answered would wait for ever. */
const LIMIT_MS = 20_000;
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
/** What is typed at each prompt, in the order of the fields; empty: the default. */
const TYPED = ['', 'MK_TYPED_API_KEY', 'TYPED-SECRET-KEY', '5867418298', '8016472829', '', '22222222226'];
const SECRETS = ['MK_TYPED_API_KEY', 'TYPED-SECRET-KEY', '22222222226'];

/** Runs its arguments on a terminal: types a line of its input at each prompt, and prints what the terminal shows. */
const TERMINAL = `
import os, pty, re, sys
lines = sys.stdin.read().split("\\n")
shown = b""
asked = set()
def master(fd):
    global shown
    data = os.read(fd, 1024)
    shown += data
    for name in re.findall(rb"(\\w+) \\(.*?\\): ", shown):
        if name not in asked and lines:
            asked.add(name)
            os.write(fd, (lines.pop(0) + "\\r").encode())
    return data
def no_input(fd):
    return b""
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], master, no_input)))
`;

const api = await startTestApi();

afterAll(() => api.close());

test('secrets that are typed are not shown, and what is no secret is', async () => {
  const { organisationId } = api.organisation;
  const words = ['rail', 'connect', 'monnify', '--environment', 'live', '--reason', 'typed'];
  const owner = ['--organisation', publicId('organisation', organisationId)];
  const child = spawn('python3', ['-c', TERMINAL, process.execPath, MAIN, ...words, ...owner], {
    env: {
      ...process.env,
      DATABASE_URL: api.databaseUrl,
      MANILLA_HOME: tmpdir(),
      MANILLA_KEYS: KEYS,
      MANILLA_OPERATOR_KEY: OPERATORS.ada.key,
      RAIL_CREDENTIALS: undefined,
    },
  });
  let shown = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
  }
  child.stdin.end(TYPED.join('\n'));
  const stuck = setTimeout(() => child.kill(), LIMIT_MS);
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(stuck);
  expect([exitCode, shown]).toEqual([0, expect.stringContaining('Connected monnify.')]);
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
  // Each question stays on the screen: nothing erases the line between it and what is typed.
  expect(shown).not.toContain('): \u001B[1G\u001B[0J');
  expect(shown).toContain('8016472829');
  const [row] = await api.sql<{ id: string; sealed: string }[]>`
    SELECT id, sealed FROM rail_contracts WHERE organisation_id = ${organisationId}`;
  const { id = '', sealed = '' } = row ?? {};
  expect(JSON.parse(api.dependencies.keyring.open('rail-credentials', id, sealed))).toMatchObject({
    apiKey: 'MK_TYPED_API_KEY',
    secretKey: 'TYPED-SECRET-KEY',
    bvn: '22222222226',
  });
});
