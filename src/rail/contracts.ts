// The rails of contracts: reads a contract and makes its rail, once for each version of its credentials.
import type postgres from 'postgres';
import { LookUps } from '../concurrency/lookUps.ts';
import { REQUEST_MAX_MS } from '../concurrency/timeLimits.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Keyring } from '../keyring.ts';
import { type Book, bookKey, bookOfKey, type Environment } from '../money.ts';
import type { BankRail } from './port.ts';
import type { RailProvider } from './provider.ts';
import { providerNamed } from './providers.ts';
import type { ContractDirectory } from './rails.ts';

/** A process reads a contract again after this, so a change by operators is followed by every process. */
const READ_AGAIN_AFTER_MS = 5_000;
/** Longer than a request that has begun with what was read before that may take. */
export const CONTRACT_IN_USE_FOR_MS = READ_AGAIN_AFTER_MS + 2 * REQUEST_MAX_MS;
/** The connections with replaced credentials are closed after this: by then no call of theirs is in progress. */
const REPLACED_CLOSED_AFTER_MS = 60_000;

/** A connected contract. */
interface ContractRow extends Book {
  id: Uuid;
  rail: string;
  version: number;
  sealed: string;
  isClosing: boolean;
  /** The version of the adapter whose check of these credentials was the last to pass; null: none has. */
  checkedVersion: string | null;
}

export interface ContractOptions {
  /** Only reads. */
  sql: Sql;
  keyring: Keyring;
  /** Adds to the rail of a contract what every rail has: a time limit, metrics and a breaker. */
  guard: (rail: BankRail) => BankRail;
  /** Whether a contract accepts nothing until its credentials have passed a check with this version of its adapter. */
  checkRequired: boolean;
}

export class ConnectedContracts implements ContractDirectory {
  readonly #options: ContractOptions;
  /** The contracts that callbacks name. */
  readonly #byId = new LookUps({
    read: (ids) => this.#read(this.#options.sql`id = ANY (${ids}::uuid[])`, ({ id }) => id),
    keptMs: READ_AGAIN_AFTER_MS,
  });
  readonly #byBook = new LookUps({
    read: (books) =>
      this.#read(
        this.#options.sql`organisation_id = ANY (${books.map((key) => bookOfKey(key).organisationId)}::uuid[])`,
        bookKey,
      ),
    keptMs: READ_AGAIN_AFTER_MS,
  });
  readonly #opened = new Map<Uuid, { version: number; rail: BankRail; close: () => Promise<void> }>();

  constructor(options: ContractOptions) {
    this.#options = options;
  }

  async ofBook(book: Book): Promise<BankRail | null> {
    const row = await this.#byBook.find(bookKey(book));
    return row && this.#open(row);
  }

  async accepts(book: Book): Promise<boolean> {
    const row = await this.#byBook.find(bookKey(book));
    if (row === null || row.isClosing) return false;
    return !this.#options.checkRequired || row.checkedVersion === providerOf(row).version;
  }

  async ofContract(environment: Environment, contractId: Uuid) {
    const row = await this.#byId.find(contractId);
    return row?.environment !== environment ? null : { rail: this.#open(row), organisationId: row.organisationId };
  }

  async names(environment: Environment): Promise<string[]> {
    const rows = await this.#options.sql<{ rail: string }[]>`
      SELECT DISTINCT rail FROM rail_contracts WHERE environment = ${environment} AND disconnected_at IS NULL ORDER BY rail`;
    return rows.map(({ rail }) => rail);
  }

  async #read(condition: postgres.Fragment, nameOf: (row: ContractRow) => string): Promise<Map<string, ContractRow>> {
    const { sql } = this.#options;
    const rows = await sql<ContractRow[]>`
      SELECT id, organisation_id, environment, rail, version, sealed, closing_at IS NOT NULL AS is_closing, (
        SELECT adapter_version FROM rail_checks c
        WHERE c.organisation_id = r.organisation_id AND c.contract_id = r.id AND c.credentials_version = r.version
          AND c.passed
        ORDER BY checked_at DESC LIMIT 1) AS checked_version
      FROM rail_contracts r WHERE disconnected_at IS NULL AND ${condition}`;
    return new Map(rows.map((row) => [nameOf(row), row]));
  }

  #open(row: ContractRow): BankRail {
    const known = this.#opened.get(row.id);
    if (known !== undefined && known.version >= row.version) return known.rail;
    const { keyring, guard } = this.#options;
    const provider = providerOf(row);
    const { id, organisationId, environment } = row;
    const sealed: unknown = JSON.parse(keyring.open('rail-credentials', id, row.sealed));
    const credentials = provider.credentials.parse(sealed);
    const opened = provider.open({ id, organisationId, environment, credentials });
    const rail = { ...guard(opened), contractId: id };
    this.#opened.set(id, { version: row.version, rail, close: () => opened.close() });
    if (known !== undefined) setTimeout(() => void known.close(), REPLACED_CLOSED_AFTER_MS).unref();
    return rail;
  }
}

function providerOf({ rail }: ContractRow): RailProvider {
  const provider = providerNamed(rail);
  if (provider === null) throw new Error(`this version has no adapter for the rail ${rail}`);
  return provider;
}
