// The drill of a rolling restart: each application is stopped as a deployment stops it and started again, one after the
// other, under traffic and connections that are never idle. No request fails, and none is killed.
import { REQUEST_MAX_MS } from '../../src/concurrency/timeLimits.ts';
import { Callers } from '../chaos/callers.ts';
import { createParticipants } from '../chaos/participants.ts';
import { APPLICATIONS, isWorker, secondsText } from '../chaos/plan.ts';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import { type ChaosStack, STOP_WITHIN_MS } from '../chaos/stack.ts';

/** An API stops within this time: more than its longest request here, and than it gives idle connections. */
const API_STOPS_WITHIN_MS = 5_000;
/** Longer than a request may take: on a busy machine one that is slow has not failed. */
const PATIENCE_MS = REQUEST_MAX_MS + 4_000;
/** The first stop is this share of the run after its start. */
const AT = 0.1;

export interface StopResult {
  verdict: Verdict;
  /** What is wrong: requests that failed, and applications that stopped late. */
  wrong: readonly string[];
  /** Requests of the busy callers. */
  requests: number;
  /** The longest stops of an API and of a worker. */
  slowestMs: { api: number; worker: number };
}

/** `busyCallers` send the next request as soon as they have an answer. */
export async function rollingRestart({
  say,
  busyCallers = 8,
  ...options
}: DrillOptions & { busyCallers?: number }): Promise<StopResult> {
  let run: ChaosRun | undefined;
  const late: string[] = [];
  const slowestMs = { api: 0, worker: 0 };
  let busy: BusyCallers | undefined;
  const happen = async (stack: ChaosStack): Promise<void> => {
    busy = await BusyCallers.start(stack, busyCallers);
    for (const part of APPLICATIONS) {
      const tookMs = await stack.replace(part);
      say(`          ${part} stopped within ${secondsText(tookMs)}, and was started again`);
      const kind = isWorker(part) ? 'worker' : 'api';
      slowestMs[kind] = Math.max(slowestMs[kind], tookMs);
      if (tookMs > (kind === 'api' ? API_STOPS_WITHIN_MS : STOP_WITHIN_MS)) {
        late.push(`${part} stopped after ${secondsText(tookMs)}`);
      }
    }
    await busy.stop();
  };
  try {
    run = await startChaosRun({
      ...options,
      say,
      drill: { atMs: options.seconds * 1000 * AT, happen, patienceMs: PATIENCE_MS },
    });
    await run.play();
    const failed = [...run.outages(), ...(busy?.callers.outages ?? ['there were no busy callers'])];
    const verdict = await run.judge();
    return {
      verdict,
      wrong: [...failed, ...late, ...verdict.wrong],
      requests: busy?.callers.requests ?? 0,
      slowestMs,
    };
  } finally {
    await run?.stop();
  }
}

/** Callers of an organisation of their own. */
class BusyCallers {
  readonly callers: Callers;
  readonly #calling: Promise<unknown>;
  #isStopped = false;

  private constructor(callers: Callers, count: number) {
    this.callers = callers;
    this.#calling = Promise.all(Array.from({ length: count }, () => this.#call()));
  }

  static async start({ sql, directUrls }: ChaosStack, count: number): Promise<BusyCallers> {
    const { apiKey } = await createParticipants(sql, { name: 'Busy', operators: [] });
    return new BusyCallers(new Callers(directUrls, apiKey, PATIENCE_MS), count);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#calling;
  }

  async #call(): Promise<void> {
    while (!this.#isStopped) await this.callers.ask('GET', '/wallets?limit=1');
  }
}
