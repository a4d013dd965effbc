// The rail of each environment. The sandbox bank serves the test environment only, never live.
import type { Environment } from '../money.ts';
import type { BankRail } from './port.ts';

export class Rails {
  readonly #rails: Partial<Record<Environment, BankRail>>;

  constructor(rails: Partial<Record<Environment, BankRail>>) {
    this.#rails = rails;
  }

  /** Returns the rail of an environment; null when none is configured. */
  of(environment: Environment): BankRail | null {
    return this.#rails[environment] ?? null;
  }

  /** Returns the rail of an environment if it has this name; else null. */
  named(environment: Environment, name: string): BankRail | null {
    const rail = this.of(environment);
    return rail?.name === name ? rail : null;
  }
}
