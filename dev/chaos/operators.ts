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

/** A wallet of the traffic, and a payer's transfer to it. */
export interface OperatedWallet {
  id: string;
  organisation: string;
  environment: Environment;
  pay: () => Promise<void>;
}

export class Operators {
  readonly #settings: NodeJS.ProcessEnv;
  readonly #say: (line: string) => void;
  /** Whose rails are paused. */
  readonly #environments: readonly Environment[];
  #sweeps = 0;

  /** `settings` include the operator's key. */
  constructor(settings: NodeJS.ProcessEnv, say: (line: string) => void, environments: readonly Environment[]) {
    this.#settings = settings;
    this.#say = say;
    this.#environments = environments;
  }

  async make(choice: Choice, wallets: readonly OperatedWallet[]): Promise<void> {
    switch (choice.do) {
      case 'freezeWallet': {
        const wallet = wallets[choice.wallet % wallets.length];
        if (wallet === undefined) return;
        const of = ['--organisation', wallet.organisation];
        const words = (verb: string): string[] => ['wallets', verb, wallet.id, ...of, ...REASON];
        await this.#forATime(words('freeze'), choice.forMs, words('unfreeze'), wallet.pay);
        return;
      }
      case 'pauseRail': {
        const environment = this.#environments[choice.forMs % this.#environments.length] ?? 'test';
        const words = (verb: string): string[] => ['rail', verb, environment, ...REASON];
        await this.#forATime(words('pause'), choice.forMs, words('resume'));
        return;
      }
      case 'resolveReview': {
        const target = wallets[choice.reviewCase % wallets.length];
        if (target === undefined) return;
        const of = ['--organisation', target.organisation];
        const cases = (await this.#run(['reviews', 'list', '--status', 'open', ...of], ATTEMPTS_MAX)) as
          | { id: string }[]
          | null;
        const one = cases?.[choice.reviewCase % cases.length];
        if (one === undefined) return;
        const wallet = choice.action === 'credit' ? ['--wallet', target.id] : [];
        await this.#run(['reviews', 'resolve', one.id, '--action', choice.action, ...wallet, ...of, ...REASON], 1);
        return;
      }
      case 'sweepFees': {
        this.#sweeps += 1;
        const books = new Map(wallets.map((wallet) => [wallet.organisation, wallet.environment]));
        for (const [organisation, environment] of books) {
          const book = ['--organisation', organisation, '--environment', environment];
          await this.#run(['ledger', 'sweep-fees', ...book, '--key', `chaos-${this.#sweeps}`], 2);
        }
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

  /** Compares the statements of all banks with the books, until now. */
  async reconcile(from: Date): Promise<void> {
    await this.#run(['reconciliation', 'run', '--from', from.toISOString()], ATTEMPTS_MAX);
  }

  /** `meanwhile`: what happens as soon as it has begun. */
  async #forATime(begin: string[], forMs: number, end: string[], meanwhile?: () => Promise<void>): Promise<void> {
    await this.#run(begin, ATTEMPTS_MAX);
    void meanwhile?.();
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
  timeout: number = PATIENCE_MS,
): Promise<{ output: unknown; failure: string | null }> {
  return new Promise((resolve) => {
    const args = [CLI, ...words, '--json'];
    execFile(process.execPath, args, { env, timeout }, (error, stdout, stderr) => {
      const output = stdout === '' ? null : JSON.parse(stdout);
      if (error === null) resolve({ output, failure: null });
      else resolve({ output, failure: stderr.trim().split('\n').at(-1) || error.message });
    });
  });
}
