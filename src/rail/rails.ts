// Which rail serves which environment. The sandbox bank serves the test environment and never the live one.
import type { Environment } from '../money.ts';
import type { BankRail } from './port.ts';

export class Rails {
  readonly #rails: Partial<Record<Environment, BankRail>>;

  constructor(rails: Partial<Record<Environment, BankRail>>) {
    this.#rails = rails;
  }

  /** The rail of an environment; null when none is configured. */
  of(environment: Environment): BankRail | null {
    return this.#rails[environment] ?? null;
  }

  /** The rail with this name in an environment; null for any other name. */
  named(environment: Environment, name: string): BankRail | null {
    const rail = this.of(environment);
    return rail?.name === name ? rail : null;
  }
}
