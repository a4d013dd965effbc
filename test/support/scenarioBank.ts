// The bank of a scenario: what its customers and the receiving banks do, and its own book. The scenarios of the money
// flows (scenarios.ts) and the random days (test/money/) know no bank but this. Here, what every bank has, and the
// sandbox bank; monnifyBank.ts has the one that stands in for a provider.
import { randomUUID } from 'node:crypto';
import type { BankBook } from '../../dev/chaos/invariants.ts';
import { DESTINATIONS, type Destination } from '../../dev/chaos/requests.ts';
import { publicId } from '../../src/ids.ts';
import type { Kobo } from '../../src/money.ts';
import type { Rails } from '../../src/rail/rails.ts';
import { SANDBOX_BANK } from '../../src/rail/sandbox/banks.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import type { Answer, TestOrganisation, TestSettings } from './api.ts';
import type { TestFlows } from './flows.ts';

/**
 * What some scenarios need of a bank, and not every rail can do. `any_amount`: an account number of a payment takes any
 * amount. `late_money`: also when it is closed or expired. `recalls`: credits are taken back, and told.
 */
export type Need = 'any_amount' | 'late_money' | 'recalls';

/** A transfer that a bank has accepted, and how often its book has it as paid and returned. */
export interface BankTransfer {
  reference: string;
  status: BankBook['transfers'][number]['status'];
  paid: number;
  returned: number;
}

export interface CreditOptions {
  /** The account number that pays; default: some customer's. */
  payer?: string;
  /** The same name is the same credit: a repeat tells of it again, and no more money comes in. */
  name?: string;
}

export type TransferOutcome = 'complete' | 'reject' | 'return';

/** A callback as the rail sends it. */
export interface SignedCallback {
  headers: Record<string, string>;
  body: string;
}

/** The bank of one organisation. Amounts are kobo. */
export interface ScenarioBank {
  /** The name of its rail, as in account codes. */
  readonly rail: string;
  /** The last part of its callback address. */
  readonly contract: string;
  /** The smallest payment. */
  readonly minAmount: Kobo;

  /**
   * A customer pays into an account number; null: into one that we did not open. Returns the session id of the credit;
   * null: the money was sent back.
   */
  credit: (accountNumber: string | null, amount: Kobo, options?: CreditOptions) => Promise<string | null>;
  /** Tells of a credit, validly signed, that it does not have. Returns the session id. */
  announceCredit: (accountNumber: string, amount: Kobo) => Promise<string>;
  /** Has the credit that it told of. */
  bookAnnounced: (sessionId: string, options?: { recalled: boolean }) => Promise<void>;
  /** Takes a credit back, and tells. */
  recall: (sessionId: string) => Promise<void>;
  /** Tells that a credit was taken back, validly signed, which it was not. */
  announceRecall: (sessionId: string) => Promise<void>;
  /** Whether account numbers can be closed now. */
  closesAccounts: (closes: boolean) => Promise<void>;

  /** An account at another bank, which treats transfers to it in this way. */
  accountFor: (destination: Destination) => Promise<string>;
  /** How a transfer is sent to one of our own account numbers, or, where that is no transfer of its own, elsewhere. */
  ownAccount: (accountNumber: string) => Promise<{ accountNumber: string; bankCode: string }>;
  /** Changes how the next transfers to an account end. An equal one is accepted again. */
  treat: (accountNumber: string, destination: 'completes' | 'rejects') => Promise<void>;
  /** Everything that is held or unavailable completes from now on. */
  release: () => Promise<void>;
  /** Ends a transfer. Returns the code of the refusal; null: it is done. */
  end: (reference: string, outcome: TransferOutcome) => Promise<string | null>;
  /** Reports a transfer that it has ended with another outcome. */
  contradict: (reference: string, outcome: 'complete' | 'reject') => Promise<void>;
  /** A valid callback that there is news of a transfer, whatever its status is. */
  updateOf: (reference: string) => SignedCallback;

  /** Every transfer that it has accepted, by its own book. */
  transfers: () => Promise<BankTransfer[]>;
  /** Its book, to be compared with ours; null: it is in our database (dev/chaos/invariants.ts). */
  book: () => BankBook | null;
  /** Whether it has sent all its callbacks. */
  isQuiet: () => Promise<boolean>;
}

/** The banks of the organisations of a test file. */
export interface ScenarioBanks {
  can: Record<Need, boolean>;
  /** Replaces the rails of the service. */
  rails: (rails: Rails) => Rails;
  /** Settings of the service that this rail needs. */
  settings: TestSettings;
  /** Credentials, which nothing may keep. */
  secrets: readonly string[];
  /** Called once, before the first organisation. */
  start: (flows: TestFlows) => Promise<void>;
  open: (flows: TestFlows, organisation: TestOrganisation) => Promise<ScenarioBank>;
  /** Ends it, after the flows. Returns the requests that no adapter may send. */
  close: () => Promise<string[]>;
}

export function sandboxBanks(): ScenarioBanks {
  return {
    can: { any_amount: true, late_money: true, recalls: true },
    rails: (rails) => rails,
    settings: {},
    secrets: [],
    async start({ sql }) {
      // The sandbox bank is in the database, so a trigger that fails with a connection error simulates an unreachable
      // bank.
      await sql.unsafe(`
        CREATE TABLE unclosable (organisation_id uuid PRIMARY KEY);
        GRANT SELECT ON unclosable TO manilla_app;
        CREATE FUNCTION refuse_closing() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF EXISTS (SELECT FROM public.unclosable WHERE organisation_id = NEW.organisation_id) THEN
            RAISE EXCEPTION 'the bank cannot be reached' USING ERRCODE = '08006';
          END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER refuse_closing BEFORE UPDATE OF closed_at ON sandbox_bank.accounts FOR EACH ROW
        EXECUTE FUNCTION refuse_closing();`);
    },
    open: (flows, organisation) => Promise.resolve(new SandboxScenarioBank(flows, organisation)),
    close: () => Promise.resolve([]),
  };
}

class SandboxScenarioBank implements ScenarioBank {
  readonly rail = 'sandbox';
  readonly minAmount = 1;
  readonly contract: string;
  readonly #flows: TestFlows;
  readonly #organisation: TestOrganisation;

  constructor(flows: TestFlows, organisation: TestOrganisation) {
    this.#flows = flows;
    this.#organisation = organisation;
    this.contract = publicId('organisation', organisation.organisationId);
  }

  get #id(): string {
    return this.#organisation.organisationId;
  }

  async credit(
    accountNumber: string | null,
    amount: Kobo,
    { payer = '0123456789', name: sessionId = randomUUID() }: CreditOptions = {},
  ): Promise<string> {
    const sender = { senderName: 'Chidi Eze', senderAccountNumber: payer, senderBankCode: '058' };
    const body = { accountNumber: accountNumber ?? '1234567890', amount, ...sender, sessionId };
    accepted(await this.#organisation.test.post('/simulations/inbound-credits', body));
    return sessionId;
  }

  async announceCredit(accountNumber: string, amount: Kobo): Promise<string> {
    const sessionId = `unconfirmed-${accountNumber}`;
    const sender = { senderName: 'Chidi Eze', senderAccountNumber: '0123456789', senderBankCode: '058' };
    const credit = { sessionId, accountNumber, accountReference: null, amount, ...sender };
    await this.#announce({ type: 'inbound_credit', ...credit, receivedAt: new Date().toISOString() });
    return sessionId;
  }

  async bookAnnounced(sessionId: string, { recalled } = { recalled: false }): Promise<void> {
    await this.#flows.sql`
      INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, recalled_at)
      SELECT organisation_id, session_id, account_number, amount, CASE WHEN ${recalled} THEN now() END FROM inbound_credits
      WHERE organisation_id = ${this.#id} AND session_id = ${sessionId}`;
  }

  async recall(sessionId: string): Promise<void> {
    accepted(await this.#organisation.test.post(`/simulations/inbound-credits/${sessionId}/recall`));
  }

  announceRecall(sessionId: string): Promise<void> {
    return this.#announce({ type: 'recall', sessionId });
  }

  async #announce({ type, ...rest }: Record<string, unknown>): Promise<void> {
    await this.#flows.sql`
      INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
      VALUES (${this.#id}, ${JSON.stringify({ type, contract: this.#id, ...rest })}, now())`;
  }

  async closesAccounts(closes: boolean): Promise<void> {
    await (closes
      ? this.#flows.sql`DELETE FROM unclosable WHERE organisation_id = ${this.#id}`
      : this.#flows.sql`INSERT INTO unclosable VALUES (${this.#id})`);
  }

  accountFor(destination: Destination): Promise<string> {
    return Promise.resolve(DESTINATIONS[destination]);
  }

  ownAccount(accountNumber: string): Promise<{ accountNumber: string; bankCode: string }> {
    return Promise.resolve({ accountNumber, bankCode: SANDBOX_BANK.code });
  }

  async treat(accountNumber: string, destination: 'completes' | 'rejects'): Promise<void> {
    const body = { behaviour: destination === 'completes' ? 'complete' : 'reject' };
    accepted(await this.#organisation.test.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body }));
  }

  async release(): Promise<void> {
    await this.treat(DESTINATIONS.unavailable, 'completes');
    await this.treat(DESTINATIONS.holds, 'completes');
  }

  end(reference: string, outcome: TransferOutcome): Promise<string | null> {
    return this.#resolve(reference, { outcome });
  }

  async contradict(reference: string, outcome: 'complete' | 'reject'): Promise<void> {
    const refusal = await this.#resolve(reference, { outcome, contradict: true });
    if (refusal !== null) throw new Error(`refused: ${refusal}`);
  }

  async #resolve(reference: string, body: object): Promise<string | null> {
    const answer = await this.#organisation.test.post(`/simulations/bank-transfers/${reference}/resolve`, body);
    return answer.status < 300 ? null : answer.error.code;
  }

  updateOf(reference: string): SignedCallback {
    const body = JSON.stringify({ type: 'transfer_update', contract: this.#id, reference });
    const signature = signCallback(this.#flows.dependencies.keyring, body, new Date());
    return { headers: { 'content-type': 'application/json', [SIGNATURE_HEADER]: signature }, body };
  }

  async transfers(): Promise<BankTransfer[]> {
    return await this.#flows.sql<BankTransfer[]>`
      SELECT t.reference, t.status, count(*) FILTER (WHERE l.kind = 'sent')::int AS paid,
             count(*) FILTER (WHERE l.kind = 'returned')::int AS returned
      FROM sandbox_bank.transfers t LEFT JOIN sandbox_bank.statement_lines l USING (organisation_id, reference)
      WHERE t.organisation_id = ${this.#id} GROUP BY t.reference, t.status ORDER BY t.status, t.reference`;
  }

  book(): null {
    return null;
  }

  async isQuiet(): Promise<boolean> {
    const waiting = await this.#flows.sql`
      SELECT FROM sandbox_bank.callbacks WHERE organisation_id = ${this.#id} LIMIT 1`;
    return waiting.length === 0;
  }
}

function accepted(response: Answer): void {
  if (response.status >= 300) throw new Error(`refused: ${response.text}`);
}
