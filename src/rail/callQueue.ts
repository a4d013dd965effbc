// The calls of a process that wait for a slot. Organisations take turns, so that the load of one delays another by one
// call at most; and interactive calls go before those of batches, which keep a share.
import type { Uuid } from '../ids.ts';

/** Who makes a call. */
export interface Caller {
  /** Null: the service itself, for the list of banks for example. */
  organisationId: Uuid | null;
  /** One of many that no caller waits for: an item of a payout, a page of a statement. */
  isBatch: boolean;
}

/** While both wait, one slot in so many goes to a batch: a payout must not stand still because of requests. */
const BATCH_EVERY = 4;

/** Lines of calls, one for each organisation, in turns. */
class Turns<Call extends Caller> {
  readonly #lines = new Map<string, Call[]>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(call: Call): void {
    const key = call.organisationId ?? '';
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, [call]);
    else line.push(call);
  }

  next(): Call | undefined {
    for (const [key, line] of this.#lines) {
      const call = line.shift();
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line); // behind the others
      return call;
    }
    return undefined;
  }

  remove(call: Call): boolean {
    const key = call.organisationId ?? '';
    const line = this.#lines.get(key);
    const index = line?.indexOf(call) ?? -1;
    if (line === undefined || index === -1) return false;
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(key);
    return true;
  }

  longest(): readonly Call[] {
    return [...this.#lines.values()].reduce((longest, line) => (line.length > longest.length ? line : longest), []);
  }

  all(): Call[] {
    return [...this.#lines.values()].flat();
  }
}

export class CallQueue<Call extends Caller> {
  readonly #interactive = new Turns<Call>();
  readonly #batches = new Turns<Call>();
  #size = 0;
  #sinceBatch = 0;

  get size(): number {
    return this.#size;
  }

  add(call: Call): void {
    this.#turnsOf(call).add(call);
    this.#size += 1;
  }

  /** Removes and returns the call whose turn it is. */
  next(): Call | undefined {
    const isTurnOfBatch = this.#interactive.isEmpty || this.#sinceBatch >= BATCH_EVERY - 1;
    const turns = isTurnOfBatch && !this.#batches.isEmpty ? this.#batches : this.#interactive;
    const call = turns.next();
    if (call === undefined) return undefined;
    this.#sinceBatch = call.isBatch || this.#batches.isEmpty ? 0 : this.#sinceBatch + 1;
    this.#size -= 1;
    return call;
  }

  /** Removes a call that no longer waits. */
  remove(call: Call): void {
    if (this.#turnsOf(call).remove(call)) this.#size -= 1;
  }

  /** Removes and returns the newest call of the longest line: a burst is refused before the calls of others. */
  dropOne(): Call | undefined {
    const [interactive, batches] = [this.#interactive.longest(), this.#batches.longest()];
    const call = (batches.length >= interactive.length ? batches : interactive).at(-1);
    if (call !== undefined) this.remove(call);
    return call;
  }

  /** All of them, in no particular order. */
  all(): Call[] {
    return [...this.#interactive.all(), ...this.#batches.all()];
  }

  #turnsOf({ isBatch }: Caller): Turns<Call> {
    return isBatch ? this.#batches : this.#interactive;
  }
}
