// A loop that takes work from a table by lease and handles each piece in a slot of its own, so that a slow piece holds
// up no other. It polls quickly while there is work and slowly when there is none.

export interface PollingLoopOptions<Item> {
  /** Leases at most this many pieces of due work. */
  claim: (max: number) => Promise<Item[]>;
  /** Handles one piece. It must not throw for what concerns that piece alone: it says so in the table instead. */
  handle: (item: Item) => Promise<void>;
  /** How many pieces are handled at the same time. */
  concurrency: number;
  onError: (error: unknown) => void;
}

/** Work that was just committed is taken up within this time while the loop is busy … */
const POLL_BUSY_MS = 10;
/** … and within this time when nothing happened for a while. */
const POLL_IDLE_MS = 100;
/** The pause after a failed claim: the database is away. */
const ERROR_PAUSE_MS = 500;

export class PollingLoop<Item> {
  readonly #options: PollingLoopOptions<Item>;
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | null = null;

  constructor(options: PollingLoopOptions<Item>) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Takes no more work and resolves when the pieces in hand are done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#loop;
    await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    let pause = POLL_BUSY_MS;
    while (!this.#stopped) {
      const free = this.#options.concurrency - this.#running.size;
      try {
        const items = free > 0 ? await this.#options.claim(free) : [];
        for (const item of items) this.#take(item);
        if (items.length === free && free > 0) continue; // more may be waiting
        pause = items.length > 0 ? POLL_BUSY_MS : Math.min(POLL_IDLE_MS, pause * 2);
      } catch (error) {
        this.#options.onError(error);
        pause = ERROR_PAUSE_MS;
      }
      await this.#sleep(pause);
    }
  }

  #take(item: Item): void {
    const work = this.#options
      .handle(item)
      .catch((error: unknown) => this.#options.onError(error))
      .finally(() => {
        this.#running.delete(work);
        if (this.#running.size === this.#options.concurrency - 1) this.#wake();
      });
    this.#running.add(work);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
