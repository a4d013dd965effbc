// Runs the parts of the stack (Postgres, Temporal, API, worker) as child processes: each with its own log file, started
// again when it dies, and all of them ended when the command that started them ends, however that comes about.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identify, type ProcessIdentity } from './lockFile.mjs';
import { endProcess } from './processes.ts';

/** One program to run. */
export interface ManagedProcess {
  name: string;
  /** Applications use servers: they are ended first. */
  kind: 'server' | 'application';
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** The account to run as, where that is not our own. */
  account?: { uid: number; gid: number } | undefined;
  stopSignal: NodeJS.Signals;
  /** How long it may take to end after the signal. */
  stopWithinMs: number;
  /** How long it may take to get ready. */
  readyWithinMs: number;
  /** Asked again and again until it says yes; an error means not yet. Told when this run of the part began. */
  isReady: (startedAt: Date) => Promise<boolean>;
}

/** What the caretaker process is told, one JSON object a line. */
export type ReaperCommand =
  | { hold: ProcessIdentity & { signal: NodeJS.Signals; graceMs: number } }
  | { release: number }
  | { remove: string };

interface Running {
  part: ManagedProcess;
  child: ChildProcess;
  identity: ProcessIdentity;
  startedAt: Date;
  ended: Promise<string>;
  /** It was ended on purpose, and is not started again. */
  dismissed: boolean;
}

interface SupervisorOptions {
  logFolder: string;
  /** Takes one line for the person at the terminal. */
  say: (line: string) => void;
  /** Called with what runs whenever that changes. */
  onChange?: (running: (ProcessIdentity & { name: string })[]) => void;
  /** Called when a part crashed too often to go on. Without it nothing is started again. */
  onGiveUp?: (reason: string) => void;
  /** The wait before the first restart; doubled with each further crash. */
  restartDelayMs?: number;
}

/** A part that crashes this often within the minute is not going to recover by being started again. */
const CRASHES_MAX = 5;
const CRASH_WINDOW_MS = 60_000;
const RESTART_DELAY_FIRST_MS = 1_000;
const RESTART_DELAY_MAX_MS = 10_000;
const READY_POLL_MS = 50;
const LOG_TAIL_LINES = 15;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running = new Map<string, Running>();
  readonly #crashes = new Map<string, number[]>();
  readonly #reaper: ChildProcess;
  #stopping: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    mkdirSync(options.logFolder, { recursive: true });
    this.#reaper = spawn(process.execPath, [fileURLToPath(new URL('./reaper.ts', import.meta.url))], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
    });
    // It ends when we do; until then it must not keep us from ending, nor end us by being gone.
    this.#reaper.stdin?.on('error', () => {});
    this.#reaper.unref();
  }

  /** Starts a part and waits until it is ready. Throws with the end of its log when it ends or does not get there. */
  async start(part: ManagedProcess): Promise<void> {
    const log = this.logOf(part.name);
    try {
      // The run before this one is what a person looks for after a crash.
      renameSync(log, path.join(this.#options.logFolder, `${part.name}.previous.log`));
    } catch {
      // There was none.
    }
    const running = this.#spawn(part);
    const failure = await this.#whenReady(running);
    if (failure !== undefined) {
      await this.#end(running);
      throw new Error(`${part.name} ${failure}. The end of ${log}:\n${this.#logTail(part.name)}`);
    }
    void running.ended.then((how) => this.#onEnd(running, how));
  }

  /** Ends a part that runs. It is started again as after a crash. Resolves when it has ended. */
  async restart(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running !== undefined) await this.#end(running);
  }

  /** Ends a part that runs. It is not started again. */
  async dismiss(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    running.dismissed = true;
    await this.#end(running);
  }

  /** Removes the folder when all parts have ended, also when this process is killed. */
  removeAtEnd(folder: string): void {
    this.#order({ remove: folder });
  }

  /** Ends all parts, applications first, and resolves when they and the folders to remove are gone. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      for (const kind of ['application', 'server'] as const) {
        const parts = [...this.#running.values()].filter((running) => running.part.kind === kind);
        await Promise.all(parts.map((running) => this.#end(running)));
      }
      const gone = new Promise((resolve) => this.#reaper.once('exit', resolve));
      if (this.#reaper.exitCode !== null || this.#reaper.signalCode !== null) return;
      this.#reaper.ref();
      this.#reaper.stdin?.end();
      await gone;
    })();
    return this.#stopping;
  }

  /** Ends all parts at once and by force. */
  kill(): void {
    for (const { child } of this.#running.values()) child.kill('SIGKILL');
  }

  logOf(name: string): string {
    return path.join(this.#options.logFolder, `${name}.log`);
  }

  #spawn(part: ManagedProcess): Running {
    // What is started from now on would be left behind.
    if (this.#stopping !== undefined) throw new Error(`${part.name} is not started: everything is being stopped`);
    const log = openSync(this.logOf(part.name), 'a', 0o600);
    const child = spawn(part.command, part.args, {
      // Straight into the file: a part must not die of a broken pipe when we are killed, but be ended properly.
      stdio: ['ignore', log, log],
      // Ctrl-C in the terminal reaches us alone, and we end the parts in their order.
      detached: true,
      env: part.env ?? process.env,
      ...(part.cwd === undefined ? {} : { cwd: part.cwd }),
      ...part.account,
    });
    closeSync(log);
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `ended with code ${code}`));
    });
    const identity = (child.pid === undefined ? undefined : identify(child.pid)) ?? { pid: 0, startedAt: '' };
    const running = { part, child, identity, startedAt: new Date(), ended, dismissed: false };
    if (identity.pid > 0) {
      this.#running.set(part.name, running);
      this.#order({ hold: { ...identity, signal: part.stopSignal, graceMs: part.stopWithinMs } });
      this.#changed();
    }
    void ended.then(() => {
      if (this.#running.get(part.name) === running) this.#running.delete(part.name);
      this.#order({ release: identity.pid });
      this.#changed();
    });
    return running;
  }

  /** Undefined once the part is ready, else why it will not be. */
  async #whenReady({ part, startedAt, ended }: Running): Promise<string | undefined> {
    let failure: string | undefined;
    void ended.then((how) => {
      failure = how;
    });
    const deadline = Date.now() + part.readyWithinMs;
    while (failure === undefined) {
      if (await part.isReady(startedAt).catch(() => false)) return failure;
      if (Date.now() > deadline) return `was not ready within ${part.readyWithinMs / 1000} s`;
      await wait(READY_POLL_MS);
    }
    return failure;
  }

  async #onEnd({ part, dismissed }: Running, how: string): Promise<void> {
    if (dismissed) return;
    const { say, onGiveUp, restartDelayMs: firstDelayMs = RESTART_DELAY_FIRST_MS } = this.#options;
    for (let happened = how; this.#stopping === undefined; ) {
      if (onGiveUp === undefined) return say(`${part.name} ${happened}.`);
      const crashes = [...(this.#crashes.get(part.name) ?? []), Date.now()].filter(
        (time) => time > Date.now() - CRASH_WINDOW_MS,
      );
      this.#crashes.set(part.name, crashes);
      if (crashes.length >= CRASHES_MAX) {
        return onGiveUp(
          `${part.name} ${happened}, ${crashes.length} times within a minute. The end of ${this.logOf(part.name)}:\n${this.#logTail(part.name)}`,
        );
      }
      const delayMs = Math.min(firstDelayMs * 2 ** (crashes.length - 1), RESTART_DELAY_MAX_MS);
      say(`${part.name} ${happened}; starting it again in ${delayMs / 1000} s (log: ${this.logOf(part.name)})`);
      await wait(delayMs);
      if (this.#stopping !== undefined) return;
      const again = this.#spawn(part);
      const failure = await this.#whenReady(again);
      if (failure === undefined) {
        say(`${part.name} is back.`);
        void again.ended.then((ending) => this.#onEnd(again, ending));
        return;
      }
      await this.#end(again);
      happened = failure;
    }
  }

  async #end({ identity, part, ended }: Running): Promise<void> {
    if (identity.pid === 0) return;
    await endProcess(identity, part.stopSignal, part.stopWithinMs);
    await ended;
  }

  #logTail(name: string): string {
    const lines = readFileSync(this.logOf(name), 'utf8').trimEnd().split('\n');
    return lines
      .filter((line) => !/^\s+at .*node:internal/.test(line))
      .slice(-LOG_TAIL_LINES)
      .map((line) => `  ${line}`)
      .join('\n');
  }

  #order(order: ReaperCommand): void {
    if (this.#reaper.stdin?.writable) this.#reaper.stdin.write(`${JSON.stringify(order)}\n`);
  }

  #changed(): void {
    this.#options.onChange?.(
      [...this.#running.values()].map(({ part, identity }) => ({ ...identity, name: part.name })),
    );
  }
}
