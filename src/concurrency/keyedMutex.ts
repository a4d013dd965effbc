// A mutex per key, within this process: writers of one row run one at a time instead of failing the version check
// repeatedly. An optimisation only: other processes are not excluded, and the version check of the database is what
// guarantees correctness.
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier calls for the same key. `waited`: whether there were any. */
  async run<Result>(key: string, work: (waited: boolean) => Promise<Result>): Promise<Result> {
    const previous = this.#last.get(key);
    // The error of an earlier call is its caller's.
    const current = previous === undefined ? work(false) : previous.catch(() => {}).then(() => work(true));
    this.#last.set(key, current);
    try {
      return await current;
    } finally {
      if (this.#last.get(key) === current) this.#last.delete(key);
    }
  }
}
