// How many requests a process has in progress at a time. More would only wait longer for the same processors and the
// same database, so that all are slow; refusing the excess keeps what is accepted fast.

export class RequestsInProgress {
  readonly #max: number;
  readonly #byOrganisation = new Map<string, number>();
  #total = 0;

  /** At most `max`; of one organisation at most half of them, so that it cannot keep out the others. */
  constructor(max: number) {
    this.#max = max;
  }

  get maxOfOrganisation(): number {
    return Math.max(1, Math.floor(this.#max / 2));
  }

  /** Counts a request until the returned function is called. Null: there are too many. */
  enter(organisationId: string): (() => void) | null {
    const own = this.#byOrganisation.get(organisationId) ?? 0;
    if (this.#total >= this.#max || own >= this.maxOfOrganisation) return null;
    this.#total += 1;
    this.#byOrganisation.set(organisationId, own + 1);
    return () => this.#leave(organisationId);
  }

  #leave(organisationId: string): void {
    this.#total -= 1;
    const left = (this.#byOrganisation.get(organisationId) ?? 0) - 1;
    if (left > 0) this.#byOrganisation.set(organisationId, left);
    else this.#byOrganisation.delete(organisationId);
  }
}
