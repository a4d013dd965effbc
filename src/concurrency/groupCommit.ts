// Group commit: entries that arrive while a statement is in flight are queued and sent together in the next one. A lone
// caller is never delayed; concurrent callers share one round trip and one disk flush. Entries of different partitions
// never share a statement nor wait for each other, and light entries of a partition do not wait for its heavy ones.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

interface PendingEntry<Entry, Result> {
  entry: Entry;
  weight: number;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export interface GroupCommitOptions<Entry, Result> {
  /** The partition of an entry, for example its organisation. A batch holds entries of one partition. */
  partitionOf: (entry: Entry) => string;
  /** Returns a result for each entry, in order. When it throws, every entry of the batch fails with that error. */
  commit: (partition: string, entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>;
  entriesMax: number;
  /** The amount of work of an entry; 1 by default. */
  weightOf?: (entry: Entry) => number;
  /** Maximum weight of a batch. A heavier entry is sent alone. */
  weightMax?: number;
  /**
   * Entries of at least this weight have a queue of their own in their partition, with one batch in flight at a time
   * beside the batches of lighter entries. So a light entry waits in the database for at most one heavy batch, not for
   * all heavy entries that arrived earlier.
   */
  heavyFrom?: number;
  /**
   * From this many entries, pending and in flight, a partition keeps two batches in flight: this process builds one and
   * resolves its callers while the database runs the other. By default one batch at a time.
   */
  pipelineFrom?: number;
}

/** The pending entries and the batches in flight of a partition. It is removed when it has neither. */
interface Partition<Entry, Result> {
  name: string;
  /** Key in the map: the name; for the queue of heavy entries, `<name> heavy`. */
  key: string;
  isHeavy: boolean;
  pending: PendingEntry<Entry, Result>[];
  inFlight: number;
  batches: number;
}

export class GroupCommit<Entry, Result> {
  readonly #options: GroupCommitOptions<Entry, Result>;
  readonly #partitions = new Map<string, Partition<Entry, Result>>();

  constructor(options: GroupCommitOptions<Entry, Result>) {
    this.#options = options;
  }

  /** Adds an entry to the next batch of its partition; resolves with the result of that entry. */
  add(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { partitionOf, weightOf, heavyFrom = Number.POSITIVE_INFINITY } = this.#options;
      const name = partitionOf(entry);
      const weight = weightOf?.(entry) ?? 1;
      const isHeavy = weight >= heavyFrom;
      const key = isHeavy ? `${name} heavy` : name;
      const known = this.#partitions.get(key);
      const partition = known ?? { name, key, isHeavy, pending: [], inFlight: 0, batches: 0 };
      partition.pending.push({ entry, weight, resolve, reject });
      if (known === undefined) this.#partitions.set(key, partition);
      // A known partition without a batch in flight is yielding in #send, which dispatches next.
      if (known === undefined || partition.batches > 0) this.#dispatch(partition);
    });
  }

  /** Sends one batch, or two halves from `pipelineFrom` entries on, within the limits of a batch. */
  #dispatch(partition: Partition<Entry, Result>): void {
    const { pipelineFrom = Number.POSITIVE_INFINITY } = this.#options;
    const total = partition.pending.length + partition.inFlight;
    const batchesMax = total < pipelineFrom || partition.isHeavy ? 1 : 2;
    let share = Math.ceil(total / batchesMax);
    while (partition.batches < batchesMax && partition.pending.length > 0) {
      if (partition.batches > 0 && partition.pending.length < share) return; // a second batch waits for its full share
      void this.#send(partition, partition.pending.splice(0, this.#batchLength(partition, share)));
      share = total - share; // the other half, if it is sent at once
    }
  }

  /** How many of the first `share` pending entries fit into a batch; at least one. */
  #batchLength({ pending }: Partition<Entry, Result>, share: number): number {
    const { entriesMax, weightMax = Number.POSITIVE_INFINITY } = this.#options;
    const lengthMax = Math.min(share, entriesMax, pending.length);
    let weight = pending[0]?.weight ?? 0;
    let count = 1;
    for (; count < lengthMax; count += 1) {
      weight += pending[count]?.weight ?? 0;
      if (weight > weightMax) break;
    }
    return count;
  }

  async #send(partition: Partition<Entry, Result>, batch: PendingEntry<Entry, Result>[]): Promise<void> {
    partition.batches += 1;
    partition.inFlight += batch.length;
    const results = await this.#commit(partition.name, batch);
    // Before its callers are resolved: one that adds its next entry at once would be counted twice, the share of a
    // second batch would be too large by one, and it would wait until the first one is back, for as long as the load
    // lasts.
    partition.batches -= 1;
    partition.inFlight -= batch.length;
    batch.forEach(({ resolve, reject }, position) => {
      const result = results[position];
      if (result?.status === 'fulfilled') resolve(result.value);
      else reject(result?.reason ?? new Error('the batch returned no result for this entry'));
    });
    // Callers that were resolved just now often add their next entry at once. Yielding to them first puts those entries
    // into the next batch; otherwise large and small batches would alternate. A lone caller does not yield.
    if (partition.batches === 0 && (batch.length > 1 || partition.pending.length > 0)) await yieldToEventLoop();
    this.#dispatch(partition);
    if (partition.batches === 0) this.#partitions.delete(partition.key);
  }

  async #commit(name: string, batch: PendingEntry<Entry, Result>[]): Promise<PromiseSettledResult<Result>[]> {
    try {
      return await this.#options.commit(
        name,
        batch.map(({ entry }) => entry),
      );
    } catch (reason) {
      return batch.map(() => ({ status: 'rejected', reason }));
    }
  }
}
