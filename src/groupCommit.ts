// Group commit: while one statement is in flight, the calls that arrive are collected, and the next statement carries
// them all. A lone caller never waits for company; many callers share one round trip and one disk flush. Entries of
// different lanes share no statement and do not wait for each other.
import { setImmediate as turn } from 'node:timers/promises';

interface Waiting<Entry, Result> {
  entry: Entry;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export interface GroupCommitOptions<Entry, Result> {
  /** Names the lane of an entry, for example its organisation: a batch holds entries of one lane. */
  laneOf: (entry: Entry) => string;
  /** Answers each entry, in order; when it throws, every entry of that batch fails with the same error. */
  commit: (lane: string, entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>;
  entriesMax: number;
}

export class GroupCommit<Entry, Result> {
  readonly #options: GroupCommitOptions<Entry, Result>;
  /** What waits for the statement that is in flight. A lane is here as long as it has one. */
  readonly #lanes = new Map<string, Waiting<Entry, Result>[]>();

  constructor(options: GroupCommitOptions<Entry, Result>) {
    this.#options = options;
  }

  /** Adds an entry to the next batch of its lane and resolves with its own result. */
  add(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.#options.laneOf(entry);
      const waiting = { entry, resolve, reject };
      const others = this.#lanes.get(lane);
      if (others !== undefined) others.push(waiting);
      else void this.#drain(lane, [waiting]);
    });
  }

  async #drain(lane: string, waiting: Waiting<Entry, Result>[]): Promise<void> {
    this.#lanes.set(lane, waiting);
    while (waiting.length > 0) {
      await this.#send(lane, waiting.splice(0, this.#options.entriesMax));
      // Those who were answered just now may have more to say: with them the next batch is whole, without them it would
      // take turns with a small one.
      if (waiting.length > 0) await turn();
    }
    this.#lanes.delete(lane);
  }

  async #send(lane: string, batch: Waiting<Entry, Result>[]): Promise<void> {
    try {
      const results = await this.#options.commit(
        lane,
        batch.map(({ entry }) => entry),
      );
      batch.forEach((waiting, position) => {
        const result = results[position];
        if (result?.status === 'fulfilled') waiting.resolve(result.value);
        else waiting.reject(result?.reason ?? new Error('a batch left one of its entries without an answer'));
      });
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
