// Runs a command as an operator or a script does, and returns how it exited.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { OPERATORS } from '../support/operators.ts';
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
  /** Default: ada's, which every test database knows. */
  operatorKey?: string | undefined;
}

/** `databaseUrl` undefined: DATABASE_URL is not set. */
export function runCli(words: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const { databaseUrl, home, temporalAddress, temporalNamespace } = surroundings;
  const operatorKey = 'operatorKey' in surroundings ? surroundings.operatorKey : OPERATORS.ada.key;
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, MANILLA_OPERATOR_KEY: ___, ...environment } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...words],
      {
        env: {
          ...environment,
          MANILLA_HOME: home,
          ...(databaseUrl && { DATABASE_URL: databaseUrl, OWNER_DATABASE_URL: ownerOf(databaseUrl) }),
          ...(operatorKey && { MANILLA_OPERATOR_KEY: operatorKey }),
          ...(temporalAddress && { TEMPORAL_ADDRESS: temporalAddress }),
          ...(temporalNamespace && { TEMPORAL_NAMESPACE: temporalNamespace }),
        },
      },
      (error, output, errors) => resolve({ exitCode: Number(error?.code ?? 0), output, errors }),
    );
  });
}
