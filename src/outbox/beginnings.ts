// When flows that wait for nothing but a time begin: at that time, and later where more of one organisation would begin
// together than Temporal handles at once. Thousands of timers that fire in the same second delay every other flow.

/** Flows are counted in slots of this length. */
const SLOT_MS = 5_000;

export class Beginnings {
  readonly #slotMax: number;
  /** Flows that begin in a slot, by organisation and number of the slot. Slots that have passed are dropped. */
  readonly #counts = new Map<string, Map<number, number>>();
  #current = 0;

  /** At most `perSecond` of one organisation, on average over a slot. */
  constructor(perSecond: number) {
    this.#slotMax = Math.max(1, Math.round((perSecond * SLOT_MS) / 1_000));
  }

  /** Takes a place for a flow that may begin at `at`. Returns when it begins: `at`, or later. Epoch milliseconds. */
  take(organisationId: string, at: number, now: number): number {
    this.#dropPassed(now);
    const counts = this.#counts.get(organisationId) ?? new Map<number, number>();
    this.#counts.set(organisationId, counts);
    const wanted = slotOf(Math.max(at, now));
    let slot = wanted;
    while ((counts.get(slot) ?? 0) >= this.#slotMax) slot += 1;
    const taken = counts.get(slot) ?? 0;
    counts.set(slot, taken + 1);
    return slot === wanted ? at : slot * SLOT_MS + (taken * SLOT_MS) / this.#slotMax;
  }

  #dropPassed(now: number): void {
    const current = slotOf(now);
    if (current === this.#current) return;
    this.#current = current;
    for (const [organisationId, counts] of this.#counts) {
      for (const slot of counts.keys()) if (slot < current) counts.delete(slot);
      if (counts.size === 0) this.#counts.delete(organisationId);
    }
  }
}

const slotOf = (at: number): number => Math.floor(at / SLOT_MS);
