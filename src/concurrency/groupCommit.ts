// Group commit: while statements are in flight, the calls that arrive are collected, and the next statement carries them
// all. A lone caller never waits for company; many callers share one round trip and one disk flush. Entries of different
// lanes share no statement and do not wait for each other; nor do light entries of a lane wait for its heavy ones.
import { setImmediate as turn } from 'node:timers/promises';

interface PendingEntry<Entry, Result> {
  entry: Entry;
  weight: number;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export interface GroupCommitOptions<Entry, Result> {
  /** Names the lane of an entry, for example its organisation: a batch holds entries of one lane. */
  partitionOf: (entry: Entry) => string;
  /** Answers each entry, in order; when it throws, every entry of that batch fails with the same error. */
  commit: (lane: string, entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>;
  entriesMax: number;
  /** How much work an entry is. Without it each is 1. */
  weightOf?: (entry: Entry) => number;
  /** The most weight in a batch. An entry that is heavier goes alone. */
  weightMax?: number;
  /**
   * Entries from this weight on have a queue of their own in their lane, of which one batch at a time is under way, beside the
   * batches of the lighter ones: those wait for one heavy batch in the database at most, and not for all that came before them.
   */
  heavyFrom?: number;
  /**
   * How many make two batches better than one, which a lane then has under way at a time: one is made and answered here
   * while the database works on the other. Without it there is one at a time.
   */
  pipelineFrom?: number;
}

/** What waits and what is in flight. A lane is here as long as it has either. */
interface Partition<Entry, Result> {
  name: string;
  /** What the lane is known by here: a heavy one has the name of the light one beside it. */
  key: string;
  isHeavy: boolean;
  pending: PendingEntry<Entry, Result>[];
  /** Entries of the batches in flight. */
  inFlight: number;
  batches: number;
}

export class GroupCommit<Entry, Result> {
  readonly #options: GroupCommitOptions<Entry, Result>;
  readonly #partitions = new Map<string, Partition<Entry, Result>>();

  constructor(options: GroupCommitOptions<Entry, Result>) {
    this.#options = options;
  }

  /** Adds an entry to the next batch of its lane and resolves with its own result. */
  add(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { partitionOf, weightOf, heavyFrom = Number.POSITIVE_INFINITY } = this.#options;
      const name = partitionOf(entry);
      const weight = weightOf?.(entry) ?? 1;
      const isHeavy = weight >= heavyFrom;
      const key = isHeavy ? `${name} heavy` : name;
      const known = this.#partitions.get(key);
      const lane = known ?? { name, key, isHeavy, pending: [], inFlight: 0, batches: 0 };
      lane.pending.push({ entry, weight, resolve, reject });
      if (known === undefined) this.#partitions.set(key, lane);
      // A lane without a batch that is known is about to send one.
      if (known === undefined || lane.batches > 0) this.#dispatch(lane);
    });
  }

  /** Everybody in one batch, or in two halves from `splitFrom` on, as far as they fit. */
  #dispatch(lane: Partition<Entry, Result>): void {
    const { entriesMax, pipelineFrom = Number.POSITIVE_INFINITY } = this.#options;
    const everybody = lane.pending.length + lane.inFlight;
    const batchesMax = everybody < pipelineFrom || lane.isHeavy ? 1 : 2;
    const share = Math.min(Math.ceil(everybody / batchesMax), entriesMax);
    while (lane.batches < batchesMax && lane.pending.length > 0) {
      if (lane.batches > 0 && lane.pending.length < share) return; // more are to come
      void this.#send(lane, lane.pending.splice(0, this.#fitting(lane, share)));
    }
  }

  /** How many of the first so many that wait are no heavier than a batch may be: one at least. */
  #fitting({ pending }: Partition<Entry, Result>, most: number): number {
    const { weightMax = Number.POSITIVE_INFINITY } = this.#options;
    let weight = pending[0]?.weight ?? 0;
    let count = 1;
    for (; count < Math.min(most, pending.length); count += 1) {
      weight += pending[count]?.weight ?? 0;
      if (weight > weightMax) break;
    }
    return count;
  }

  async #send(lane: Partition<Entry, Result>, batch: PendingEntry<Entry, Result>[]): Promise<void> {
    lane.batches += 1;
    lane.inFlight += batch.length;
    await this.#settle(lane.name, batch);
    lane.batches -= 1;
    lane.inFlight -= batch.length;
    // Those who were answered just now may have more to say: with them the next batch is whole, without them it would
    // take turns with a small one. Whoever was alone has nobody to wait for.
    if (lane.batches === 0 && (batch.length > 1 || lane.pending.length > 0)) await turn();
    this.#dispatch(lane);
    if (lane.batches === 0) this.#partitions.delete(lane.key);
  }

  async #settle(lane: string, batch: PendingEntry<Entry, Result>[]): Promise<void> {
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
