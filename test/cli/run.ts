// Runs a command as an operator or a script does, and returns how it exited: within the test's process, which takes a
// tenth of the processor time, or in a process of its own, for tests of how the process ends.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcess, execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { reportFailure } from '../../src/cli/failure.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { TestFlows } from '../support/flows.ts';
import { OPERATORS, type OperatorName } from '../support/operators.ts';
import { ownerOf } from '../support/stack.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface Ended {
  exitCode: number;
  output: string;
  errors: string;
}

export interface Surroundings {
  databaseUrl?: string | undefined;
  /** MANILLA_HOME: a folder of the test's own, since the service may be running on the same machine. */
  home: string;
  temporalAddress?: string;
  temporalNamespace?: string;
  taskQueue?: string;
  /** Default: ada's, which every test database knows. */
  operatorKey?: string | undefined;
  /** More settings. */
  more?: Record<string, string>;
}

/** `databaseUrl` undefined: DATABASE_URL is not set. */
function environmentOf(surroundings: Surroundings): NodeJS.ProcessEnv {
  const { databaseUrl, home, temporalAddress, temporalNamespace, taskQueue, more } = surroundings;
  const operatorKey = 'operatorKey' in surroundings ? surroundings.operatorKey : OPERATORS.ada.key;
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, MANILLA_OPERATOR_KEY: ___, ...environment } = process.env;
  return {
    ...environment,
    MANILLA_HOME: home,
    ...(databaseUrl && { DATABASE_URL: databaseUrl, OWNER_DATABASE_URL: ownerOf(databaseUrl) }),
    ...(operatorKey && { MANILLA_OPERATOR_KEY: operatorKey }),
    ...(temporalAddress && { TEMPORAL_ADDRESS: temporalAddress }),
    ...(temporalNamespace && { TEMPORAL_NAMESPACE: temporalNamespace }),
    ...(taskQueue && { TEMPORAL_TASK_QUEUE: taskQueue }),
    ...more,
  };
}

/** What a command uses of `process`, and the connections that it opens to Temporal. */
interface Run {
  process: Pick<NodeJS.Process, 'env' | 'stdout' | 'stderr' | 'exitCode'>;
  connections: { close: () => Promise<void> }[];
}

const runs = new AsyncLocalStorage<Run>();

/**
 * Gives each running command an environment, output streams and an exit code of its own, so that commands can run
 * concurrently. The process is its own again after the test file.
 */
globalThis.process = new Proxy(process, {
  get: (outside, name) => Reflect.get(ownOf(name) ?? outside, name),
  set: (outside, name, value) => Reflect.set(ownOf(name) ?? outside, name, value),
});

/** What has this property of the command that runs; undefined: the process. */
function ownOf(name: string | symbol): object | undefined {
  const own = runs.getStore()?.process;
  return own !== undefined && name in own ? own : undefined;
}

let noting: Promise<void> | undefined;

/** Notes the connections of a run. A command that fails leaves them open, and its process exits. */
async function noteConnections(): Promise<void> {
  const { Connection } = await import('@temporalio/client');
  const open = Connection.lazy.bind(Connection);
  Connection.lazy = (options) => {
    const connection = open(options);
    runs.getStore()?.connections.push(connection);
    return connection;
  };
}

/** Runs a command within this process, with what src/cli/main.ts does. */
export async function runCli(words: readonly string[], surroundings: Surroundings): Promise<Ended> {
  if (surroundings.temporalAddress !== undefined) {
    noting ??= noteConnections();
    await noting;
  }
  const written = { stdout: '', stderr: '' };
  const streamOf = (name: keyof typeof written) => {
    const write = (text: string): boolean => {
      written[name] += text;
      return true;
    };
    return { write } as unknown as NodeJS.WriteStream & { fd: 1 & 2 };
  };
  const run: Run = {
    process: {
      env: environmentOf(surroundings),
      stdout: streamOf('stdout'),
      stderr: streamOf('stderr'),
      exitCode: undefined,
    },
    connections: [],
  };
  await runs.run(run, async () => {
    try {
      const program = await createProgram(words[0]);
      await program.parseAsync([...words], { from: 'user' });
    } catch (fault) {
      process.exitCode = reportFailure(fault);
      await Promise.all(run.connections.map((connection) => connection.close()));
    }
  });
  return { exitCode: Number(run.process.exitCode ?? 0), output: written.stdout, errors: written.stderr };
}

/** Runs a command in a process of its own. */
export const runCliProcess = (words: readonly string[], surroundings: Surroundings): Promise<Ended> =>
  startCliProcess(words, surroundings).ended;

/** Starts a command in a process of its own, which the caller may kill. */
export function startCliProcess(
  words: readonly string[],
  surroundings: Surroundings,
): { child: ChildProcess; ended: Promise<Ended> } {
  const { promise: ended, resolve } = Promise.withResolvers<Ended>();
  const env = environmentOf(surroundings);
  const child = execFile(process.execPath, [MAIN, ...words], { env }, (error, output, errors) =>
    resolve({ exitCode: Number(error?.code ?? 0), output, errors }),
  );
  return { child, ended };
}

/** Runs a command as this operator, with the servers of these flows. */
export function runAs(flows: TestFlows, operator: OperatorName, ...words: string[]): Promise<Ended> {
  const { address, taskQueue } = flows.dependencies.config.temporal;
  return runCli(words, {
    databaseUrl: flows.databaseUrl,
    home: tmpdir(),
    temporalAddress: address,
    taskQueue,
    operatorKey: OPERATORS[operator].key,
  });
}

/** As `runAs`, for a command that must succeed. Returns its JSON; throws its error. */
export async function operate(flows: TestFlows, operator: OperatorName, ...words: string[]): Promise<unknown> {
  const { exitCode, output, errors } = await runAs(flows, operator, ...words, '--json');
  if (exitCode !== 0) throw new Error(errors);
  return JSON.parse(output);
}
