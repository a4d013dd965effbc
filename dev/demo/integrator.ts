// What the demos do as an integrator does: requests over HTTP with a printed key, and waiting for statuses.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stateFolderPath } from '../../src/cli/settings.ts';
import { nairaText } from '../../src/money.ts';
import { type Quickstart, StateFolder } from '../stateFolder.ts';
import { until } from '../until.ts';

export interface ApiResponse {
  success: boolean;
  statusCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: the demo reads the responses as an integrator's script would
  data: any;
  error?: { code: string; message: string };
}

export const WAIT_MS = 15_000;

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** Settings that would take a command to another database, or to a real provider. */
const CLEARED = { DATABASE_URL: '', RAIL_CREDENTIALS: '' };

/** Runs a command of operators. */
const command = (words: readonly string[], more: NodeJS.ProcessEnv): Promise<{ output: string; errors: string }> =>
  new Promise((resolve) => {
    const env = { ...process.env, ...CLEARED, ...more };
    execFile(process.execPath, [CLI, ...words], { env }, (_error, output, errors) => resolve({ output, errors }));
  });

/** Its JSON, whatever its exit code. */
export async function operate<Output>(words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Output> {
  const { output, errors } = await command([...words, '--json'], more);
  try {
    return JSON.parse(output) as Output;
  } catch {
    throw new Error(`${words.join(' ')}: ${errors.trim() || output}`);
  }
}

/** Prints what it prints. */
export async function printCommand(what: string, words: readonly string[]): Promise<void> {
  const { output, errors } = await command(words, {});
  if (output === '') throw new Error(`${words.join(' ')}: ${errors.trim()}`);
  printStep(what, output.trim().replaceAll('\n', '\n    '));
}

let steps = 0;
export function printStep(what: string, detail = ''): void {
  steps += 1;
  console.log(`${String(steps).padStart(2)}. ${what}${detail && `\n    ${detail}`}`);
}

/** What the running service printed. */
export function findRunning(): Quickstart {
  const stateFolder = new StateFolder(stateFolderPath());
  const quickstart = stateFolder.quickstart();
  if (quickstart !== undefined) return quickstart;
  throw new Error(
    `${stateFolder.path('quickstart.json')} does not exist. Run \`npm start\` in another terminal first, with the same MANILLA_HOME.`,
  );
}

/** Waits as a 429 asks, then sends the same request again: the demo polls many resources with one key. */
export function createCaller(baseUrl: string, apiKey: string) {
  return async (method: string, path: string, body?: unknown): Promise<ApiResponse> => {
    const request = {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    let response = await fetch(`${baseUrl}${path}`, request);
    while (response.status === 429) {
      await response.body?.cancel();
      await sleep(1_000 * Number(response.headers.get('retry-after') ?? 1));
      response = await fetch(`${baseUrl}${path}`, request);
    }
    const result = (await response.json()) as ApiResponse;
    if (!result.success) throw new Error(`${method} ${path}: ${result.error?.code}: ${result.error?.message}`);
    return result;
  };
}

export type Call = ReturnType<typeof createCaller>;

export async function createTier1Wallet(call: Call, email: string, fullName: string): Promise<string> {
  const { data } = await call('POST', '/wallets', { email, fullName });
  await call('POST', `/wallets/${data.id}/kyc`, {
    bvn: '12345678901',
    dateOfBirth: '1990-05-17',
    gender: 'female',
    phone: '+2348012345678',
    addressLine1: '1 Marina',
    city: 'Lagos',
    state: 'Lagos',
  });
  return data.id;
}

/** Returns the resource once it has one of these statuses. */
export const untilStatus = (call: Call, path: string, ...statuses: string[]) =>
  until(
    `${path} to be ${statuses.join(' or ')}`,
    async () => {
      const { data } = await call('GET', path);
      return statuses.includes(data.status) ? data : undefined;
    },
    WAIT_MS,
  );

export async function printBalance(call: Call, whose: string, walletId: string): Promise<void> {
  const { data } = await call('GET', `/wallets/${walletId}/balance`);
  printStep(`${whose} balance is ${nairaText(data.balance)}`);
}
