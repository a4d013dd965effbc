// Runs the build stage of the Dockerfile in a folder, without Docker: COPY takes what .dockerignore admits, RUN runs in
// the folder that stands for WORKDIR. The base image is this machine with this Node.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const run = promisify(execFile);

export interface Instruction {
  name: string;
  words: string;
}

/** The instructions of the Dockerfile by stage; the last one has no name. */
export function readDockerfile(): Map<string, Instruction[]> {
  const lines = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const stages = new Map<string, Instruction[]>();
  let stage: Instruction[] = [];
  for (const line of lines) {
    const [, name = '', words = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === 'FROM') {
      stage = [];
      stages.set(/ AS (\w+)$/.exec(words)?.[1] ?? '', stage);
    }
    stage.push({ name, words });
  }
  return stages;
}

/** Carries out the instructions of a stage in an empty folder. */
export async function buildStage(instructions: readonly Instruction[], folder: string): Promise<void> {
  const admitted = readFileSync(path.join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  const environment: NodeJS.ProcessEnv = {
    HOME: process.env.HOME,
    // The Node that runs this, which need not be the first on the PATH.
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
    // Packages from the cache of the installation of the project.
    npm_config_prefer_offline: 'true',
  };
  mkdirSync(folder, { recursive: true });
  for (const { name, words } of instructions) {
    if (name === 'ENV') {
      const [variable = '', value] = words.split('=');
      environment[variable] = value;
    } else if (name === 'COPY') {
      const sources = words.split(' ').slice(0, -1);
      for (const source of sources) {
        if (!admitted.includes(source)) throw new Error(`.dockerignore does not admit ${source}`);
        cpSync(path.join(ROOT, source), path.join(folder, source), { recursive: true });
      }
    } else if (name === 'RUN') {
      await run('/bin/sh', ['-c', words], { cwd: folder, env: environment, maxBuffer: 64_000_000 });
    } else if (name !== 'FROM' && name !== 'WORKDIR') {
      throw new Error(`no test for the instruction ${name}`);
    }
  }
}

/** The files of a folder, each with its mode and a digest of its content. */
export function contentsOf(folder: string): Record<string, string> {
  const contents: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file);
    if (entry.isSymbolicLink()) contents[name] = `link to ${readlinkSync(file)}`;
    else if (entry.isFile()) {
      const digest = createHash('sha256').update(readFileSync(file)).digest('hex');
      contents[name] = `${(statSync(file).mode & 0o777).toString(8)} ${digest}`;
    }
  }
  return contents;
}
