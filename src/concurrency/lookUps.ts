// Rows that anyone may ask for by a key, also by keys that do not exist: those of API keys and of callback addresses.
// Found rows and unknown keys are remembered for a few seconds. All other keys are read by one statement at a time, so
// a flood of unknown keys costs the database one connection.
import { LRUCache } from 'lru-cache';
import { GroupCommit } from './groupCommit.ts';

const FOUND_MAX = 10_000;
/** Unknown keys are remembered apart: those of a stranger do not take the place of rows that are in use. */
const UNKNOWN_MAX = 1_000;
const BATCH_MAX = 1_000;

export class LookUps<Row extends object> {
  readonly #found: LRUCache<string, Row>;
  readonly #unknown: LRUCache<string, true>;
  readonly #reads: GroupCommit<string, Row | null>;

  /** `read`: the rows that exist, by their keys. `keptMs`: how long a row is used without being read again. */
  constructor({ read, keptMs }: { read: (keys: string[]) => Promise<ReadonlyMap<string, Row>>; keptMs: number }) {
    this.#found = new LRUCache({ max: FOUND_MAX, ttl: keptMs });
    this.#unknown = new LRUCache({ max: UNKNOWN_MAX, ttl: keptMs });
    this.#reads = new GroupCommit({
      partitionOf: () => '',
      commit: async (_partition, keys) => {
        const rows = await read([...new Set(keys)]);
        return keys.map((key) => ({ status: 'fulfilled', value: rows.get(key) ?? null }));
      },
      entriesMax: BATCH_MAX,
    });
  }

  async find(key: string): Promise<Row | null> {
    const found = this.#found.get(key);
    if (found !== undefined) return found;
    if (this.#unknown.has(key)) return null;
    const row = await this.#reads.add(key);
    if (row === null) this.#unknown.set(key, true);
    else this.#found.set(key, row);
    return row;
  }
}
