// Runs the processes of the stack (Postgres, Temporal, API, worker) as child processes: each has its own log file and
// is restarted when it crashes, and all of them end when the command that started them ends, also when it is killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identify, type ProcessIdentity } from './lockFile.mjs';
import { rotateAbove } from './logFiles.ts';
import { endProcess } from './processes.ts';

/** One process to run. */
export interface ManagedProcess {
  name: string;
  /** Applications use servers, so they are stopped first. */
  kind: 'server' | 'application';
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** The account to run as, where it is not the current user's. */
  account?: { uid: number; gid: number } | undefined;
  stopSignal: NodeJS.Signals;
  /** Grace period between `stopSignal` and SIGKILL. */
  stopWithinMs: number;
  /** Readiness timeout. */
  readyWithinMs: number;
  /**
   * Readiness probe, polled until it returns true; an error means not ready yet. Takes the time this process was
   * started.
   */
  isReady: (startedAt: Date) => Promise<boolean>;
}

/** A command to the reaper process (dev/reaper.ts), one JSON object a line. */
export type ReaperCommand =
  | { track: ProcessIdentity & { signal: NodeJS.Signals; graceMs: number } }
  | { untrack: number }
  | { remove: string };

/** To a process that `prepare` started: to load its source, and to start, which loads it too. */
export type PreparedStep = 'load' | 'start';

interface Running {
  definition: ManagedProcess;
  child: ChildProcess;
  identity: ProcessIdentity;
  startedAt: Date;
  ended: Promise<string>;
  /** It was stopped deliberately and is not restarted. */
  dismissed: boolean;
}

interface SupervisorOptions {
  logFolder: string;
  /** Prints one line to the terminal. */
  say: (line: string) => void;
  /** Called with the running processes whenever they change. */
  onChange?: (running: (ProcessIdentity & { name: string })[]) => void;
  /** Called when a process has crashed `crashesMax` times within a minute. Without it nothing is restarted. */
  onGiveUp?: (reason: string) => void;
  /** Delay before the first restart; doubled with each further crash. */
  restartDelayMs?: number;
  /** Default: CRASHES_MAX. */
  crashesMax?: number;
  /** Default: LOGS. */
  logs?: typeof LOGS;
}

/** A process that crashes this often within the window is not restarted any more. */
const CRASHES_MAX = 5;
const CRASH_WINDOW_MS = 60_000;
const RESTART_DELAY_FIRST_MS = 1_000;
const RESTART_DELAY_MAX_MS = 10_000;
const READY_POLL_MS = 50;
const LOG_TAIL_LINES = 15;
/** Of each process: at most 60 MB, which at the level `info` is about a day of a busy machine. */
const LOGS = { bytesMax: 10_000_000, olderKept: 5, checkEveryMs: 5_000 };

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running = new Map<string, Running>();
  /** Each waits to be the next of its name. */
  readonly #prepared = new Map<string, Running>();
  readonly #definitions = new Map<string, ManagedProcess>();
  readonly #crashes = new Map<string, number[]>();
  readonly #reaper: ChildProcess;
  readonly #logs: typeof LOGS;
  readonly #rotating: NodeJS.Timeout;
  #stopping: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#logs = options.logs ?? LOGS;
    mkdirSync(options.logFolder, { recursive: true });
    this.#rotating = setInterval(() => this.#rotateLogs(), this.#logs.checkEveryMs);
    this.#rotating.unref();
    this.#reaper = spawn(process.execPath, [fileURLToPath(new URL('./reaper.ts', import.meta.url))], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
    });
    // It exits when this process does. It must not keep this process alive, nor crash it with EPIPE when it is gone.
    this.#reaper.stdin?.on('error', () => {});
    this.#reaper.unref();
  }

  /**
   * Starts a process and waits until it is ready. Throws with the tail of its log when it exits or is not ready in
   * time.
   */
  async start(definition: ManagedProcess): Promise<void> {
    this.#definitions.set(definition.name, definition);
    const log = this.logOf(definition.name);
    // The log of the previous run shows the cause of a crash.
    rotateAbove(0, log, this.#logs.olderKept);
    const running = this.#takePrepared(definition.name) ?? this.#spawn(definition);
    const failure = await this.#whenReady(running);
    if (failure !== undefined) {
      await this.#end(running);
      throw new Error(`${definition.name} ${failure}. The end of ${log}:\n${this.#logTail(definition.name)}`);
    }
    void running.ended.then((reason) => this.#onEnd(running, reason));
  }

  /** Starts the next process of this name ahead, as `dev/preparedProgram.ts`: it waits for `startAgain`. */
  prepare(name: string): void {
    if (this.#stopping !== undefined || this.#prepared.has(name)) return;
    this.#spawn(this.#definitions.get(name) as ManagedProcess, this.#prepared);
  }

  /**
   * Stops a process, if it runs, and starts it as the last time, after `before`. A prepared process loads its source
   * meanwhile. Throws as `start` does.
   */
  async startAgain(name: string, before?: Promise<unknown>): Promise<void> {
    tell(this.#prepared.get(name), 'load');
    await Promise.all([this.dismiss(name), before]);
    await this.start(this.#definitions.get(name) as ManagedProcess);
  }

  /** Stops a running process, which is not restarted. */
  async dismiss(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    running.dismissed = true;
    await this.#end(running);
  }

  /** Removes the folder when all processes have ended, also when this process is killed. */
  removeAtEnd(folder: string): void {
    this.#sendToReaper({ remove: folder });
  }

  /** Stops all processes, applications first. Resolves when they have exited and the folders to remove are gone. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      clearInterval(this.#rotating);
      for (const kind of ['application', 'server'] as const) {
        const processes = this.#all().filter(({ definition }) => definition.kind === kind);
        await Promise.all(processes.map((running) => this.#end(running)));
      }
      const reaperExit = new Promise((resolve) => this.#reaper.once('exit', resolve));
      if (this.#reaper.exitCode !== null || this.#reaper.signalCode !== null) return;
      this.#reaper.ref();
      this.#reaper.stdin?.end();
      await reaperExit;
    })();
    return this.#stopping;
  }

  /** Sends SIGKILL to all processes. */
  kill(): void {
    for (const { child } of this.#all()) child.kill('SIGKILL');
  }

  logOf(name: string): string {
    return path.join(this.#options.logFolder, `${name}.log`);
  }

  #all(): Running[] {
    return [...this.#running.values(), ...this.#prepared.values()];
  }

  #takePrepared(name: string): Running | undefined {
    const prepared = this.#prepared.get(name);
    if (prepared === undefined) return undefined;
    tell(prepared, 'start');
    this.#prepared.delete(name);
    prepared.startedAt = new Date();
    this.#running.set(name, prepared);
    this.#reportChange();
    return prepared;
  }

  #spawn(definition: ManagedProcess, among = this.#running): Running {
    const { name, command, args, env, cwd, account, stopSignal, stopWithinMs } = definition;
    // `stop` would not end a process that is started from now on.
    if (this.#stopping !== undefined) throw new Error(`${name} is not started: everything is being stopped`);
    const log = openSync(this.logOf(name), 'a', 0o600);
    const child = spawn(command, args, {
      // Directly into the file: when this process is killed, a pipe would break and crash the child before the reaper
      // stops it properly.
      stdio: ['ignore', log, log, ...(among === this.#prepared ? (['ipc'] as const) : [])],
      // Ctrl-C in the terminal reaches this process only, which stops the processes in order.
      detached: true,
      env: env ?? process.env,
      ...(cwd === undefined ? {} : { cwd }),
      ...account,
    });
    closeSync(log);
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      child.once('exit', (code, signal) => resolve(signal ? `was killed by ${signal}` : `exited with code ${code}`));
    });
    const identity = (child.pid === undefined ? undefined : identify(child.pid)) ?? { pid: 0, startedAt: '' };
    const running = { definition, child, identity, startedAt: new Date(), ended, dismissed: false };
    if (identity.pid > 0) {
      among.set(name, running);
      this.#sendToReaper({ track: { ...identity, signal: stopSignal, graceMs: stopWithinMs } });
      this.#reportChange();
    }
    void ended.then(() => {
      for (const kept of [this.#prepared, this.#running]) if (kept.get(name) === running) kept.delete(name);
      this.#sendToReaper({ untrack: identity.pid });
      this.#reportChange();
    });
    return running;
  }

  /** Resolves to undefined once the process is ready, or to the reason why it failed to get ready. */
  async #whenReady({ definition, startedAt, ended }: Running): Promise<string | undefined> {
    let failure: string | undefined;
    void ended.then((reason) => {
      failure = reason;
    });
    const deadline = Date.now() + definition.readyWithinMs;
    while (failure === undefined) {
      if (await definition.isReady(startedAt).catch(() => false)) return failure;
      if (Date.now() > deadline) return `was not ready within ${definition.readyWithinMs / 1000} s`;
      await wait(READY_POLL_MS);
    }
    return failure;
  }

  async #onEnd({ definition, dismissed }: Running, endReason: string): Promise<void> {
    if (dismissed) return;
    const { name } = definition;
    const {
      say,
      onGiveUp,
      restartDelayMs: firstDelayMs = RESTART_DELAY_FIRST_MS,
      crashesMax = CRASHES_MAX,
    } = this.#options;
    for (let reason = endReason; this.#stopping === undefined; ) {
      if (onGiveUp === undefined) return say(`${name} ${reason}.`);
      const crashes = [...(this.#crashes.get(name) ?? []), Date.now()].filter(
        (time) => time > Date.now() - CRASH_WINDOW_MS,
      );
      this.#crashes.set(name, crashes);
      if (crashes.length >= crashesMax) {
        return onGiveUp(
          `${name} ${reason}${times(crashes.length)}. The end of ${this.logOf(name)}:\n${this.#logTail(name)}`,
        );
      }
      const delayMs = Math.min(firstDelayMs * 2 ** (crashes.length - 1), RESTART_DELAY_MAX_MS);
      say(`${name} ${reason}; restarting it in ${delayMs / 1000} s (log: ${this.logOf(name)})`);
      await wait(delayMs);
      if (this.#stopping !== undefined || this.#running.has(name)) return; // or it was started again meanwhile
      const restarted = this.#spawn(definition);
      const failure = await this.#whenReady(restarted);
      if (failure === undefined) {
        say(`${name} is running again.`);
        void restarted.ended.then((next) => this.#onEnd(restarted, next));
        return;
      }
      await this.#end(restarted);
      reason = failure;
    }
  }

  async #end({ identity, definition, ended }: Running): Promise<void> {
    if (identity.pid === 0) return;
    await endProcess(identity, definition.stopSignal, definition.stopWithinMs);
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

  #rotateLogs(): void {
    const { bytesMax, olderKept } = this.#logs;
    for (const name of this.#running.keys()) rotateAbove(bytesMax, this.logOf(name), olderKept);
  }

  #sendToReaper(command: ReaperCommand): void {
    if (this.#reaper.stdin?.writable) this.#reaper.stdin.write(`${JSON.stringify(command)}\n`);
  }

  #reportChange(): void {
    this.#options.onChange?.(this.#all().map(({ definition, identity }) => ({ ...identity, name: definition.name })));
  }
}

/** Sends a prepared process its next step; one that has just ended does not get it. */
const tell = (prepared: Running | undefined, step: PreparedStep): void => void prepared?.child.send(step, () => {});

const times = (crashes: number): string => (crashes === 1 ? '' : `, ${crashes} times within a minute`);
