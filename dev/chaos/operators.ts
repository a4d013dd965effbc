// The operators' choices of a plan, made with the command line as an operator makes them: a command that fails because
// of a fault is repeated.
import { execFile } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../src/money.ts';
import type { Choice } from './plan.ts';

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PATIENCE_MS = 15_000;
const REPEAT_AFTER_MS = 1_000;
/** Of a choice that may no longer be possible: the case has been resolved, or its wallet's limit is reached. */
const ATTEMPTS_MAX = 3;
/** Of a choice that would keep money waiting if it were not undone. */
const UNDO_ATTEMPTS_MAX = 60;

const REASON = ['--reason', 'a chaos run'];

export class Operators {
  readonly #settings: NodeJS.ProcessEnv;
  readonly #say: (line: string) => void;
  /** Whose rails are paused. */
  readonly #environments: readonly Environment[];

  /** `settings` include the operator's key. */
  constructor(settings: NodeJS.ProcessEnv, say: (line: string) => void, environments: readonly Environment[]) {
    this.#settings = settings;
    this.#say = say;
    this.#environments = environments;
  }

  async make(choice: Choice, wallets: readonly { id: string; organisation: string }[]): Promise<void> {
    switch (choice.do) {
      case 'freezeWallet': {
        const wallet = wallets[choice.wallet % wallets.length];
        if (wallet === undefined) return;
        const of = ['--organisation', wallet.organisation];
        const words = (verb: string): string[] => ['wallets', verb, wallet.id, ...of, ...REASON];
        await this.#forATime(words('freeze'), choice.forMs, words('unfreeze'));
        return;
      }
      case 'pauseRail': {
        const environment = this.#environments[choice.forMs % this.#environments.length] ?? 'test';
        const words = (verb: string): string[] => ['rail', verb, environment, ...REASON];
        await this.#forATime(words('pause'), choice.forMs, words('resume'));
        return;
      }
      case 'resolveReview': {
        const cases = (await this.#run(['reviews', 'list', '--status', 'open'], ATTEMPTS_MAX)) as
          | { id: string }[]
          | null;
        const one = cases?.[choice.reviewCase % cases.length];
        if (one === undefined) return;
        const wallet =
          choice.action === 'credit' ? ['--wallet', wallets[choice.reviewCase % wallets.length]?.id ?? ''] : [];
        await this.#run(['reviews', 'resolve', one.id, '--action', choice.action, ...wallet, ...REASON], 1);
        return;
      }
      case 'retryParked':
        await this.retryParked();
    }
  }

  /** The bank is available again: all parked flows are retried. */
  async retryParked(): Promise<void> {
    await this.#run(['attention', 'retry', '--query', 'Attention IS NOT NULL', ...REASON], ATTEMPTS_MAX);
  }

  async #forATime(begin: string[], forMs: number, end: string[]): Promise<void> {
    await this.#run(begin, ATTEMPTS_MAX);
    await wait(forMs);
    await this.#run(end, UNDO_ATTEMPTS_MAX);
  }

  /** Runs a command, again after a failure. Returns its output; null when it failed each time. */
  async #run(words: string[], attemptsMax: number): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const { output, failure } = await runCommand(words, this.#settings);
      if (failure === null) {
        if (words[1] !== 'list') this.#say(`operator: ${words.slice(0, -2).join(' ')}`);
        return output;
      }
      if (attempt >= attemptsMax) {
        this.#say(`operator: ${words.slice(0, -2).join(' ')}: ${failure}`);
        return null;
      }
      await wait(REPEAT_AFTER_MS);
    }
  }
}

/** Runs a command of the command line. `output`: its JSON, if it printed one; `failure`: its error, or null. */
export function runCommand(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ output: unknown; failure: string | null }> {
  return new Promise((resolve) => {
    const args = [CLI, ...words, '--json'];
    execFile(process.execPath, args, { env, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      const output = stdout === '' ? null : JSON.parse(stdout);
      if (error === null) resolve({ output, failure: null });
      else resolve({ output, failure: stderr.trim().split('\n').at(-1) ?? error.message });
    });
  });
}
