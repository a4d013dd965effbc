// The Python client: its example against the API and a worker, its own tests, and its types.
import { execFile } from 'node:child_process';
import { cpSync, globSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { installPythonPackages } from '../../tools/pythonPackages.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows } from '../support/flows.ts';

const cwd = fileURLToPath(new URL('../../clients/python', import.meta.url));
const run = promisify(execFile);

const flows = await startTestFlows();

afterAll(() => flows.close());

test('the example ends with a verified webhook, the balance, the statement and a refusal', async () => {
  const { stdout } = await run('python3', ['-B', 'example.py'], {
    cwd,
    env: { ...process.env, MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' },
  });
  expect(stdout).toContain('webhook: settled');
  expect(stdout).toContain('balance: 200000');
  expect(stdout).toContain('statement: credit 200000 payment_settlement');
  expect(stdout).toMatch(/refused: SAME_WALLET http:\/\/127\.0\.0\.1:\d+\/docs\/errors#same_wallet/);
});

/** The versions that the client is for. */
const VERSIONS = ['3.10', '3.11', '3.12', '3.13', '3.14'];

/** The interpreters of them on this machine: any `python3.N`, and those of pyenv. */
const interpreters = VERSIONS.flatMap((version) => {
  const [ofPyenv] = globSync(path.join(homedir(), `.pyenv/versions/${version}.*/bin/python3`));
  // What pyenv puts into the PATH are names of versions that it would have to be told.
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !folder.endsWith('shims'));
  const [ofPath] = globSync(folders.map((folder) => path.join(folder, `python${version}`)));
  const python = ofPyenv ?? ofPath;
  return python === undefined ? [] : [{ version, python }];
});

test.each([{ version: 'of the machine', python: 'python3' }, ...interpreters])(
  'its unit tests pass with Python $version',
  async ({ python }) => {
    const { stderr } = await run(python, ['-B', '-m', 'unittest', '-v', 'test_client'], { cwd });
    expect(stderr).toMatch(/Ran 17 tests.*\n\nOK\n/);
  },
);

describe('its types', () => {
  let programs: string;

  beforeAll(async () => {
    programs = await installPythonPackages('pythonClient');
  });

  async function problemsOf(folder: string, files: string[], ...options: string[]): Promise<string> {
    // Parsed JSON is Any: the generated methods say what it is.
    const rules = ['--strict', '--no-warn-return-any', `--cache-dir=${temporaryFolder()}`, ...options];
    const mypy = path.join(programs, 'mypy');
    const { stdout } = await run(mypy, [...rules, ...files], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    return stdout;
  }

  test.each(VERSIONS)('are those that its example and its tests use, with Python %s', async (version) => {
    const files = ['manilla', 'example.py', 'test_client.py'];
    expect(await problemsOf(cwd, files, `--python-version=${version}`)).toMatch(/^Success: no issues found/);
  });

  test('are seen by programs that use the installed package', async () => {
    const folder = temporaryFolder();
    // A copy: setuptools writes beside the source.
    cpSync(cwd, path.join(folder, 'source'), { recursive: true });
    const pip = (...words: string[]) => run(path.join(programs, 'python'), ['-m', 'pip', ...words], { cwd: folder });
    await pip('wheel', '--no-build-isolation', '--no-deps', '--quiet', './source');
    const [wheel = ''] = globSync('*.whl', { cwd: folder });
    const environment = path.join(folder, 'environment');
    await run('python3', ['-m', 'venv', '--without-pip', environment]);
    const python = path.join(environment, 'bin/python');
    await pip('--python', python, 'install', '--no-index', '--quiet', wheel);

    // A folder of its own: mypy would find the source beside the program.
    const project = temporaryFolder();
    writeFileSync(
      path.join(project, 'program.py'),
      "from manilla import Manilla\nprint(Manilla('', '').get_wallet('svc_1')['fullname'])\n",
    );
    const problems = await problemsOf(project, ['program.py'], `--python-executable=${python}`);
    expect(problems).toContain('TypedDict "Wallet" has no key "fullname"');
    expect(problems).toContain('Found 1 error');
  });
});
