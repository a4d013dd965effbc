// The rail of each book: the sandbox bank, which serves every organisation of the test environment and never live, or
// the rail of the organisation's contract.
import { parseId, type Uuid } from '../ids.ts';
import type { Book, Environment } from '../money.ts';
import type { BankRail } from './port.ts';

export interface ContractDirectory {
  /** The rail of a book's contract; null: none is connected. */
  ofBook: (book: Book) => Promise<BankRail | null>;
  /** Whether it may be used for something new. A contract may be closing, or lack a check that is required. */
  accepts: (book: Book) => Promise<boolean>;
  /** The names of the rails that are connected. */
  names: (environment: Environment) => Promise<string[]>;
  /** The rail with this name of the contract with this id, and whose contract it is; null: none is connected. */
  ofContract: (environment: Environment, contractId: Uuid) => Promise<{ rail: BankRail; organisationId: Uuid } | null>;
}

export class Rails {
  readonly #shared: Partial<Record<Environment, BankRail>>;
  readonly #contracts: ContractDirectory | null;

  /** `shared`: the rail that serves every organisation of an environment. */
  constructor(shared: Partial<Record<Environment, BankRail>>, contracts: ContractDirectory | null = null) {
    this.#shared = shared;
    this.#contracts = contracts;
  }

  /** The rail that serves every organisation of an environment; null when each needs a contract. */
  shared(environment: Environment): BankRail | null {
    return this.#shared[environment] ?? null;
  }

  /** The rail of a book; null when its organisation has not connected any. */
  async of(book: Book): Promise<BankRail | null> {
    return this.shared(book.environment) ?? (await this.#contracts?.ofBook(book)) ?? null;
  }

  /** The rail of a book for something new; null when there is none, or it accepts nothing new. */
  async accepting(book: Book): Promise<BankRail | null> {
    if (this.shared(book.environment) === null && !(await this.#contracts?.accepts(book))) return null;
    return await this.of(book);
  }

  async names(environment: Environment): Promise<string[]> {
    const shared = this.shared(environment);
    return shared === null ? ((await this.#contracts?.names(environment)) ?? []) : [shared.name];
  }

  /** The rail of a book if it has this name; else null. */
  async named(book: Book, name: string): Promise<BankRail | null> {
    const rail = await this.of(book);
    return rail?.name === name ? rail : null;
  }

  /** The rail and organisation of a callback address. At a shared rail its id stands for the contract. */
  async ofCallback(
    environment: Environment,
    name: string,
    contract: string,
  ): Promise<{ rail: BankRail; organisationId: Uuid } | null> {
    const shared = this.shared(environment);
    if (shared?.name === name) {
      const organisationId = parseId('organisation', contract);
      return organisationId === null ? null : { rail: shared, organisationId };
    }
    const contractId = parseId('railContract', contract);
    if (contractId === null || this.#contracts === null) return null;
    const found = await this.#contracts.ofContract(environment, contractId);
    return found?.rail.name === name ? found : null;
  }
}
