// Installs tools written in Python, by the checksums of a requirements.txt, into virtual environments in `.cache`.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../.cache', import.meta.url));
const PYTHON_MIN = [3, 11];

/** Runs a program in `.cache`, where tools write caches of their own. Its output is shown. Returns its exit code. */
export function runShown(program: string, words: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: CACHE, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function succeed(what: string, program: string, words: readonly string[]): Promise<void> {
  const code = await runShown(program, words).catch((error: unknown) => String(error));
  if (code !== 0) throw new Error(`${what} (${program} ${words.join(' ')}: ${code})`);
}

/**
 * Installs `tools/<name>/requirements.txt`, once for each content of the file. Returns the environment's folder of
 * programs.
 */
export async function installPythonPackages(name: string): Promise<string> {
  const requirements = fileURLToPath(new URL(`${name}/requirements.txt`, import.meta.url));
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = path.join(CACHE, `${name}-${digest}`);
  const programs = path.join(folder, 'bin');
  if (existsSync(path.join(folder, 'installed'))) return programs;
  mkdirSync(CACHE, { recursive: true });
  const [major, minor] = PYTHON_MIN;
  const need = `${name} needs Python ${major}.${minor} or newer with venv: install python3 and python3-venv`;
  await succeed(need, 'python3', [
    '-c',
    `import sys, venv, ensurepip; sys.exit(sys.version_info < (${major}, ${minor}))`,
  ]);
  rmSync(folder, { recursive: true, force: true });
  await succeed(need, 'python3', ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes', '--requirement'];
  await succeed('the packages were not installed; check that PyPI is reachable', path.join(programs, 'python'), [
    ...pip,
    requirements,
  ]);
  writeFileSync(path.join(folder, 'installed'), '');
  return programs;
}
