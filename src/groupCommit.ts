// Group commit: while one statement is in flight, the calls that arrive are collected, and the next statement carries
// them all. A lone caller never waits for company; many callers share one round trip and one disk flush.

interface Waiting<Entry, Result> {
  entry: Entry;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export class GroupCommit<Entry, Result> {
  readonly #commit: (entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>;
  readonly #entriesMax: number;
  #waiting: Waiting<Entry, Result>[] = [];
  #busy = false;

  /** `commit` answers each entry, in order; when it throws, every entry of that batch fails with the same error. */
  constructor(commit: (entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>, entriesMax: number) {
    this.#commit = commit;
    this.#entriesMax = entriesMax;
  }

  /** Adds an entry to the next batch and resolves with its own result. */
  add(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#entriesMax);
      try {
        const results = await this.#commit(batch.map((waiting) => waiting.entry));
        batch.forEach((waiting, position) => {
          const result = results[position];
          if (result?.status === 'fulfilled') waiting.resolve(result.value);
          else waiting.reject(result?.reason ?? new Error('a batch left one of its entries without an answer'));
        });
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#busy = false;
  }
}
