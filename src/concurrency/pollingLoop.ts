// A polling loop that leases due rows from a table and handles each in a slot of its own, so that a slow item does not
// delay the others. The polling interval is short while there is work and grows when there is none.

export interface PollingLoopOptions<Item> {
  /** Leases at most `max` due items. */
  claim: (max: number) => Promise<Item[]>;
  /** Handles one item. It must record a failure of that item in the table instead of throwing. */
  handle: (item: Item) => Promise<void>;
  /** How many items are handled at the same time. */
  concurrency: number;
  /** The longest interval, reached by doubling while no work is found. Default: 100 ms. */
  idlePauseMs?: number;
  onError: (error: unknown) => void;
}

/** The interval while work is found: newly committed work starts within this time. */
const POLL_BUSY_MS = 10;
const POLL_IDLE_MS = 100;
/** The pause after a failed claim, for example while the database is unreachable. */
const ERROR_PAUSE_MS = 500;

export class PollingLoop<Item> {
  readonly #options: PollingLoopOptions<Item>;
  readonly #running = new Set<Promise<void>>();
  #stopped = false;
  /** Whether the loop waits for a slot, and not for items. */
  #full = false;
  #wake: () => void = () => {};
  #loop: Promise<void> | null = null;

  constructor(options: PollingLoopOptions<Item>) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Claims no more work and resolves when the items in progress are done. */
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
      this.#full = free <= 0;
      try {
        const items = free > 0 ? await this.#options.claim(free) : [];
        for (const item of items) this.#start(item);
        if (items.length === free && free > 0) continue; // every free slot was filled: more may be due
        pause = items.length > 0 ? POLL_BUSY_MS : Math.min(this.#options.idlePauseMs ?? POLL_IDLE_MS, pause * 2);
      } catch (error) {
        this.#options.onError(error);
        pause = ERROR_PAUSE_MS;
      }
      await this.#sleep(pause);
    }
  }

  #start(item: Item): void {
    const work = this.#options
      .handle(item)
      .catch((error: unknown) => this.#options.onError(error))
      .finally(() => {
        this.#running.delete(work);
        if (this.#full && this.#running.size < this.#options.concurrency) this.#wake();
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

/** Loops that are started and stopped together. */
export const together = (loops: readonly Pick<PollingLoop<never>, 'start' | 'stop'>[]) => ({
  start: (): void => {
    for (const loop of loops) loop.start();
  },
  stop: async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
  },
});
