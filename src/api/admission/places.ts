// The requests that a process handles at a time. More at a time would all be slow: they wait for the same processors
// and the same database. So the excess waits here, and organisations take turns. A burst has time to be served. While
// more comes of one than can be served, its newest request goes first and its others are soon refused, so those that
// are served have not waited. (In the order of their arrival, all would wait for as long as they may.)

/** Gives the place back; only the first call counts. */
export type Leave = () => void;

interface Waiting {
  since: number;
  admit: (leave: Leave | null) => void;
}

interface Options {
  places: number;
  /**
   * How many requests wait. An organisation may fill what it leaves free, half of it if no other waits: so there is
   * room for the next organisation whatever the others do.
   */
  waitingMax: number;
  /** A request of a burst that has waited for this long is refused. */
  waitMaxMs: number;
  /**
   * After such a refusal, or one for which its own left no room, it is no burst: until none was refused for
   * `waitMaxMs`, those of its organisation wait no longer than this. Those of others have their turns.
   */
  overloadedWaitMaxMs: number;
}

export class Places {
  readonly #options: Options;
  #taken = 0;
  #waitingCount = 0;
  /** While some wait. */
  #refusing: NodeJS.Timeout | undefined;
  /** Of the organisations that overload the process. */
  readonly #overloadedUntil = new Map<string, number>();
  /** In the order of their turns. The newest of an organisation is the last. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** How many requests hold a place or wait for one. */
  get size(): number {
    return this.#taken + this.#waitingCount;
  }

  /** Takes a place that is free; null: all are taken. */
  tryTake(): Leave | null {
    if (this.#taken >= this.#options.places) return null;
    this.#taken += 1;
    return this.#leave();
  }

  /** Waits for a place. Null: the queue is full, the wait too long, or `signal`: the connection was closed. */
  wait(organisationId: string, signal: AbortSignal): Promise<Leave | null> {
    const own = this.#waiting.get(organisationId) ?? [];
    const { waitingMax, waitMaxMs } = this.#options;
    const isFull = own.length >= waitingMax - this.#waitingCount;
    if (isFull && own.length > waitingMax / 3) this.#overloadedUntil.set(organisationId, performance.now() + waitMaxMs);
    if (isFull || signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const waiting: Waiting = {
        since: performance.now(),
        admit: (leave) => {
          signal.removeEventListener('abort', giveUp);
          if (this.#waitingCount === 0) clearInterval(this.#refusing);
          resolve(leave);
        },
      };
      const giveUp = (): void => this.#remove(organisationId, own.indexOf(waiting), 1);
      signal.addEventListener('abort', giveUp);
      if (this.#waitingCount === 0)
        this.#refusing = setInterval(() => this.#refuseLate(), this.#options.overloadedWaitMaxMs / 4).unref();
      own.push(waiting);
      this.#waiting.set(organisationId, own);
      this.#waitingCount += 1;
    });
  }

  /** Refuses what has waited for too long; of an organisation that overloads the process, what has waited shortly. */
  #refuseLate(): void {
    const { waitMaxMs, overloadedWaitMaxMs } = this.#options;
    const now = performance.now();
    for (const [organisationId, until] of this.#overloadedUntil)
      if (until <= now) this.#overloadedUntil.delete(organisationId);
    for (const [organisationId, own] of this.#waiting) {
      const [oldest] = own;
      const isOverloaded = this.#overloadedUntil.has(organisationId);
      const lastSince = now - (isOverloaded ? overloadedWaitMaxMs : waitMaxMs);
      if (oldest === undefined || oldest.since > lastSince) continue;
      this.#overloadedUntil.set(organisationId, now + waitMaxMs);
      const late = own.findIndex(({ since }) => since > now - overloadedWaitMaxMs);
      this.#remove(organisationId, 0, late < 0 ? own.length : late);
    }
  }

  #leave(): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const next = this.#next();
      if (next === undefined) this.#taken -= 1;
      else next.admit(this.#leave());
    };
  }

  /** The newest request of the organisation whose turn it is; that organisation has its next turn after all others. */
  #next(): Waiting | undefined {
    const [turn] = this.#waiting;
    if (turn === undefined) return undefined;
    const [organisationId, own] = turn;
    const next = own.pop();
    this.#waitingCount -= 1;
    this.#waiting.delete(organisationId);
    if (own.length > 0) this.#waiting.set(organisationId, own);
    return next;
  }

  #remove(organisationId: string, from: number, count: number): void {
    const own = this.#waiting.get(organisationId) ?? [];
    const removed = own.splice(from, count);
    this.#waitingCount -= removed.length;
    if (own.length === 0) this.#waiting.delete(organisationId);
    for (const { admit } of removed) admit(null);
  }
}
