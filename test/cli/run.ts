// Runs a command as a person or a script does, and tells how it ended.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface Ended {
  exitCode: number;
  output: string;
  errors: string;
}

export interface Surroundings {
  databaseUrl?: string | undefined;
  folder?: string;
}

/** `databaseUrl` undefined: DATABASE_URL is not set. */
export function runCli(words: readonly string[], { databaseUrl, folder }: Surroundings): Promise<Ended> {
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, ...environment } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...words],
      { env: { ...environment, ...(databaseUrl && { DATABASE_URL: databaseUrl }) }, cwd: folder },
      (error, output, errors) => resolve({ exitCode: Number(error?.code ?? 0), output, errors }),
    );
  });
}
