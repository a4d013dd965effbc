// Group commit: while one statement is in flight, the calls that arrive are collected, and the next statement carries
// them all. A lone caller never waits for company; many callers share one round trip and one disk flush. Each
// organisation has a lane of its own, so that a statement names one organisation and none waits for
// another's.
import type { Uuid } from './ids.ts';

interface Waiting<Entry, Result> {
  entry: Entry;
  resolve: (result: Result) => void;
  reject: (reason: unknown) => void;
}

export interface GroupCommitOptions<Entry, Result> {
  /** Whose entry it is: a batch holds entries of one organisation. */
  organisationOf: (entry: Entry) => Uuid;
  /** Answers each entry, in order; when it throws, every entry of that batch fails with the same error. */
  commit: (organisationId: Uuid, entries: Entry[]) => Promise<PromiseSettledResult<Result>[]>;
  entriesMax: number;
}

export class GroupCommit<Entry, Result> {
  readonly #options: GroupCommitOptions<Entry, Result>;
  /** What waits for the statement that is in flight. A lane is here as long as it has one. */
  readonly #lanes = new Map<Uuid, Waiting<Entry, Result>[]>();

  constructor(options: GroupCommitOptions<Entry, Result>) {
    this.#options = options;
  }

  /** Adds an entry to the next batch of its organisation and resolves with its own result. */
  add(entry: Entry): Promise<Result> {
    return new Promise((resolve, reject) => {
      const organisationId = this.#options.organisationOf(entry);
      const waiting = { entry, resolve, reject };
      const lane = this.#lanes.get(organisationId);
      if (lane !== undefined) lane.push(waiting);
      else void this.#drain(organisationId, [waiting]);
    });
  }

  async #drain(organisationId: Uuid, lane: Waiting<Entry, Result>[]): Promise<void> {
    const { commit, entriesMax } = this.#options;
    this.#lanes.set(organisationId, lane);
    while (lane.length > 0) {
      const batch = lane.splice(0, entriesMax);
      try {
        const results = await commit(
          organisationId,
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
    this.#lanes.delete(organisationId);
  }
}
