// The Python client: its example against the API and a worker, its own tests, and its types.
import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, globSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
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

/** The interpreter of a version on this machine: that of pyenv, or any `python3.N`. */
function interpreterOf(version: string): string | undefined {
  const [ofPyenv] = globSync(path.join(homedir(), `.pyenv/versions/${version}.*/bin/python3`));
  // What pyenv puts into the PATH are names of versions that it would have to be told.
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !folder.endsWith('shims'));
  return ofPyenv ?? globSync(folders.map((folder) => path.join(folder, `python${version}`)))[0];
}

const [present = [], missing = []] = [true, false].map((isHere) =>
  VERSIONS.filter((version) => (interpreterOf(version) !== undefined) === isHere),
);

/** The folder of programs of the tools, of which `python` has pip. */
const programs = await installPythonPackages('pythonClient');
const pip = (cwd: string, ...words: string[]) =>
  run(path.join(programs, 'python'), ['-m', 'pip', '--disable-pip-version-check', ...words], { cwd });
const wheel = await pack();

/** Packs a copy: setuptools writes beside the source. Returns the path of the wheel. */
async function pack(): Promise<string> {
  const folder = temporaryFolder();
  cpSync(cwd, path.join(folder, 'source'), { recursive: true });
  await pip(folder, 'wheel', '--no-build-isolation', '--no-deps', '--quiet', './source');
  return path.join(folder, globSync('*.whl', { cwd: folder })[0] ?? '');
}

/** Installs the wheel into an environment of its own. Returns the interpreter there. */
async function install(interpreter: string): Promise<string> {
  const environment = path.join(temporaryFolder(), 'environment');
  await run(interpreter, ['-m', 'venv', '--without-pip', environment]);
  const python = path.join(environment, 'bin/python');
  await pip(environment, '--python', python, 'install', '--no-index', '--quiet', wheel);
  return python;
}

const elsewhere = missing.length === 0 ? '' : ` (not on this machine: ${missing.join(', ')})`;

test.each(present)(`Python %s installs the package, and passes its tests${elsewhere}`, async (version) => {
  const python = await install(interpreterOf(version) ?? '');
  const folder = temporaryFolder(); // without the source, which would be imported instead
  copyFileSync(path.join(cwd, 'test_client.py'), path.join(folder, 'test_client.py'));
  const { stderr } = await run(python, ['-m', 'unittest', '-v', 'test_client'], { cwd: folder });
  expect(stderr).toMatch(/Ran 20 tests.*\n\nOK\n/);
});

describe('its types', () => {
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
    const python = await install('python3');
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
