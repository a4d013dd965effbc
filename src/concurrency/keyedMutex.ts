// Turns: work about one thing goes one after another within this process, where it would otherwise be overtaken again and
// again. It only saves rounds: between processes, and in the end, the database decides.
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does `work` when those that came before it are through; it hears whether there were any. */
  async run<Result>(thing: string, work: (waited: boolean) => Promise<Result>): Promise<Result> {
    const before = this.#last.get(thing);
    const turn = this.#after(before, () => work(before !== undefined));
    this.#last.set(thing, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(thing) === turn) this.#last.delete(thing);
    }
  }

  async #after<Result>(before: Promise<unknown> | undefined, work: () => Promise<Result>): Promise<Result> {
    await before?.catch(() => undefined); // its own caller hears of it
    return await work();
  }
}
