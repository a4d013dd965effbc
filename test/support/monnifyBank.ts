// Monnify as the bank of the scenarios: the real adapter over the fake (dev/monnify/), which has books of its own.
// Each organisation has a contract, a fake and a rail of its own, so that its scenario sees no other.
import type { BankBook } from '../../dev/chaos/invariants.ts';
import type { Destination } from '../../dev/chaos/requests.ts';
import { bankBookOf, statusOf } from '../../dev/monnify/bankBook.ts';
import { type Collection, collectionFee, type TransferStep } from '../../dev/monnify/book.ts';
import { holderOf, UNKNOWN_ACCOUNT } from '../../dev/monnify/destinations.ts';
import { collectionEvent, signEvent } from '../../dev/monnify/events.ts';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { FAKE_CREDENTIALS } from '../../dev/monnify/fakeCredentials.ts';
import type { Plan } from '../../dev/monnify/plans.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import type { Book, Environment, Kobo } from '../../src/money.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { FAILURE_FINAL_AFTER_MS } from '../../src/rail/monnify/outcomes.ts';
import { createMonnifyRail, monnify } from '../../src/rail/monnify/rail.ts';
import type { BankRail } from '../../src/rail/port.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { type ContractDirectory, Rails } from '../../src/rail/rails.ts';
import type { TestOrganisation } from './api.ts';
import type { TestFlows } from './flows.ts';
import type {
  BankTransfer,
  CreditOptions,
  ScenarioBank,
  ScenarioBanks,
  SignedCallback,
  TransferOutcome,
} from './scenarioBank.ts';

/** Of the contract, for an account number of the settlement wallet. Not the number of a person. */
const DIRECTOR_BVN = '22222222226';
const CANCEL_INVOICE = 'DELETE /api/v1/invoice/{reference}/cancel';

/** A transfer takes its next step after this time. */
const STEP_MS = 50;

/**
 * The adapter's clock is ahead by twice the time after which a failure with a final message is believed: every failure
 * of a scenario is at once.
 */
const AHEAD_MS = 2 * FAILURE_FINAL_AFTER_MS.final;

/**
 * Monnify's silence is final after a quarter of an hour. That of the fake is when no call can be in flight any
 * more, which is the least that the service waits for (src/rail/guarded.ts).
 */
const SILENCE_MS = 1;

const PENDING: TransferStep = { status: 'PENDING' };
const SUCCESS: TransferStep = { status: 'SUCCESS', comment: 'Transaction successful' };
const FAILED: TransferStep = { status: 'FAILED', comment: 'Dormant beneficiary account' };
const REVERSED: TransferStep = { status: 'REVERSED', comment: 'Reversed by the receiving bank' };

const PLANS: Record<Exclude<Destination, 'doesNotExist'>, Plan> = {
  completes: {},
  rejects: { steps: [PENDING, { status: 'IN_PROGRESS' }, FAILED] },
  returns: { steps: [PENDING, { ...SUCCESS, passes: true }, REVERSED] },
  holds: { steps: [PENDING] },
  losesResponse: { fault: 'reset', acts: true, times: 1 },
  losesTransfer: { fault: 'reset' },
  unavailable: { fault: 'reset', on: 'send_and_status' },
};

/** The steps to an outcome, by the status so far; without an entry the transfer has ended. */
const ENDS: Record<string, Record<TransferOutcome, TransferStep[]>> = {
  processing: { complete: [SUCCESS], reject: [FAILED], return: [{ ...SUCCESS, passes: true }, REVERSED] },
  completed: { complete: [], reject: [], return: [REVERSED] },
};

const CUSTOMER = '0065432190';

class MonnifyScenarioBank implements ScenarioBank {
  readonly rail = 'monnify';
  readonly minAmount = monnify.capabilities.oneOff.minAmount;
  readonly contract: string;
  readonly fake: MonnifyFake;
  /** Every credit that was told of, by its session id. Not all are in the book. */
  readonly #told = new Map<string, Collection>();
  /** The credits of callers that name them. */
  readonly #named = new Map<string, string>();
  /** Accounts to which transfers are held, or whose transfers cannot be asked for. */
  readonly #stuck: string[] = [];
  readonly #held: bigint;
  #lastAccount = 1_600_000_000;

  constructor({ organisationId }: TestOrganisation) {
    this.contract = publicId('railContract', organisationId);
    this.fake = new MonnifyFake({ stepMs: STEP_MS });
    this.#held = this.fake.book.balance;
  }

  /** The adapter to the fake, which has started. */
  createRail(): ClosableRail {
    const credentials = { ...this.fake.credentials, bvn: DIRECTOR_BVN };
    const adapter = createMonnifyRail(credentials, () => new Date(Date.now() + AHEAD_MS));
    const transfers = { ...adapter.capabilities.transfers, notVisibleForMs: SILENCE_MS };
    return { ...adapter, capabilities: { ...adapter.capabilities, transfers } };
  }

  async credit(accountNumber: string | null, amount: Kobo, { payer = CUSTOMER, name }: CreditOptions = {}) {
    const known = name === undefined ? undefined : this.#told.get(this.#named.get(name) ?? '');
    if (known !== undefined) {
      await this.fake.notify(collectionEvent(known));
      return known.transactionReference;
    }
    const sender = { name: holderOf(payer) ?? 'CHIDI EZE', accountNumber: payer, bankCode: '000013' };
    const collection =
      accountNumber === null
        ? await this.fake.collect(this.#collectionOf('opened-in-the-dashboard', '6899999999', amount, sender))
        : await this.fake.pay(accountNumber, BigInt(amount), sender);
    if (typeof collection === 'string') return null;
    this.#told.set(collection.transactionReference, collection);
    if (name !== undefined) this.#named.set(name, collection.transactionReference);
    return collection.transactionReference;
  }

  #collectionOf(
    productReference: string,
    accountNumber: string,
    amount: Kobo,
    payer: Collection['payer'],
    productType: Collection['productType'] = 'RESERVED_ACCOUNT',
  ): Collection {
    return {
      transactionReference: this.fake.book.newReference('MNFY'),
      productType,
      productReference,
      accountNumber,
      amount: BigInt(amount),
      fee: collectionFee(BigInt(amount)),
      paymentMethod: 'ACCOUNT_TRANSFER',
      status: 'PAID',
      createdAt: new Date(),
      paidAt: new Date(),
      payer,
      settlement: null,
    };
  }

  async announceCredit(accountNumber: string, amount: Kobo): Promise<string> {
    const { invoices, reserved } = this.fake.book;
    const invoice = [...invoices.values()].find((one) => one.accountNumber === accountNumber);
    const account = invoice ?? [...reserved.values()].find((one) => one.accountNumber === accountNumber);
    if (account === undefined) throw new Error(`the fake has no account number ${accountNumber}`);
    const payer = { name: 'CHIDI EZE', accountNumber: CUSTOMER, bankCode: '000013' };
    const productType = invoice === undefined ? 'RESERVED_ACCOUNT' : 'INVOICE';
    const collection = this.#collectionOf(account.reference, accountNumber, amount, payer, productType);
    this.#told.set(collection.transactionReference, collection);
    await this.fake.notify(collectionEvent(collection));
    return collection.transactionReference;
  }

  bookAnnounced(sessionId: string): Promise<void> {
    const collection = this.#told.get(sessionId);
    if (collection === undefined) throw new Error(`the fake has told of no credit ${sessionId}`);
    this.fake.book.collections.set(sessionId, collection);
    return Promise.resolve();
  }

  recall(): Promise<void> {
    return Promise.reject(new Error('Monnify recalls no credit'));
  }

  announceRecall(): Promise<void> {
    return this.recall();
  }

  closesAccounts(closes: boolean): Promise<void> {
    if (closes) this.fake.mend(CANCEL_INVOICE);
    else this.fake.break(CANCEL_INVOICE, 'reset', { times: Number.POSITIVE_INFINITY });
    return Promise.resolve();
  }

  /** A new account each time: two equal transfers to one are two minutes apart. */
  accountFor(destination: Destination): Promise<string> {
    if (destination === 'doesNotExist') return Promise.resolve(UNKNOWN_ACCOUNT);
    this.#lastAccount += 1;
    const accountNumber = String(this.#lastAccount);
    this.fake.plans.set(accountNumber, PLANS[destination]);
    if (destination === 'holds' || destination === 'unavailable') this.#stuck.push(accountNumber);
    return Promise.resolve(accountNumber);
  }

  /** Of another bank: the fake collects no transfer of ours, and a payout to a wallet stays within the book. */
  async ownAccount(): Promise<{ accountNumber: string; bankCode: string }> {
    return { accountNumber: await this.accountFor('completes'), bankCode: '058' };
  }

  treat(accountNumber: string, destination: 'completes' | 'rejects'): Promise<void> {
    this.fake.plans.set(accountNumber, PLANS[destination]);
    this.#passGuard();
    return Promise.resolve();
  }

  /** As two minutes later: an equal transfer to an account is no duplicate any more. */
  #passGuard(): void {
    this.fake.defects.add('no_guard');
  }

  async release(): Promise<void> {
    this.#passGuard();
    for (const accountNumber of this.#stuck) this.fake.plans.set(accountNumber, PLANS.completes);
    const { transfers } = this.fake.book;
    const held = [...transfers.values()].filter(({ steps }) => steps.length === 1 && statusOf(steps) === 'processing');
    for (const { reference } of held) await this.end(reference, 'complete');
  }

  async end(reference: string, outcome: TransferOutcome): Promise<string | null> {
    const transfer = this.fake.book.transfers.get(reference);
    if (transfer === undefined) return 'BANK_TRANSFER_NOT_FOUND';
    const steps = ENDS[statusOf(transfer.steps)]?.[outcome] ?? [];
    if (steps.length === 0) return 'BANK_TRANSFER_ENDED';
    await this.#take(reference, steps);
    return null;
  }

  async contradict(reference: string, outcome: 'complete' | 'reject'): Promise<void> {
    await this.#take(reference, [outcome === 'complete' ? SUCCESS : FAILED]);
  }

  /** The next of these steps is taken now, instead of those that are left. */
  async #take(reference: string, steps: readonly TransferStep[]): Promise<void> {
    const transfer = this.fake.transfer(reference);
    transfer.steps = [...transfer.steps.slice(0, 1), ...steps];
    await this.fake.advance(reference);
  }

  /** It says that the transfer has succeeded, which is not believed. */
  updateOf(reference: string): SignedCallback {
    const event = { eventType: 'SUCCESSFUL_DISBURSEMENT', eventData: { reference, status: 'SUCCESS' } };
    const { headers, body } = signEvent(event, FAKE_CREDENTIALS.secretKey);
    return { headers, body: body.toString() };
  }

  transfers(): Promise<BankTransfer[]> {
    const { lines, transfers } = this.book();
    const times = (kind: 'sent' | 'returned', reference: string): number =>
      lines.filter((line) => line.kind === kind && line.reference === reference).length;
    const counted = transfers.map(({ reference, status }) => ({
      reference,
      status,
      paid: times('sent', reference),
      returned: times('returned', reference),
    }));
    const keyOf = ({ status, reference }: BankTransfer): string => `${status} ${reference}`;
    return Promise.resolve(counted.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1)));
  }

  book(): BankBook {
    return bankBookOf(this.fake);
  }

  isQuiet(): Promise<boolean> {
    return Promise.resolve(this.fake.sending === 0);
  }

  /** What it holds for the organisation more than at the start, in both balances. */
  holds(): bigint {
    return this.fake.book.balance + this.fake.book.collected - this.#held;
  }
}

/** A contract of each organisation with Monnify, of which it is the id. */
export class MonnifyBanks implements ScenarioBanks, ContractDirectory {
  readonly can = {
    any_amount: monnify.capabilities.oneOff.amount === 'any',
    late_money: monnify.capabilities.oneOff.lateMoney === 'accepted',
    recalls: false, // none is documented (docs/rails/monnify.md)
  };
  /** A rail that did not respond in time on a busy machine is asked again after a second. */
  readonly settings = { probeMs: 1_000 };
  readonly secrets = [FAKE_CREDENTIALS.apiKey, FAKE_CREDENTIALS.secretKey, 'eyJhbG', DIRECTOR_BVN];
  readonly #callbackUrl: string | null;
  readonly #contracts = new Map<Uuid, { bank: MonnifyScenarioBank; adapter: ClosableRail; rail: BankRail }>();

  /** `callbackUrl`: where callbacks are sent, before the id of the contract; null: to the service. */
  constructor(callbackUrl: string | null = null) {
    this.#callbackUrl = callbackUrl;
  }

  rails = (): Rails => new Rails({}, this);

  start(): Promise<void> {
    return Promise.resolve();
  }

  async open({ urls }: Pick<TestFlows, 'urls'>, organisation: TestOrganisation): Promise<MonnifyScenarioBank> {
    const bank = new MonnifyScenarioBank(organisation);
    await bank.fake.start();
    bank.fake.callbackUrl = `${this.#callbackUrl ?? `${urls.test}/rails/monnify/callbacks`}/${bank.contract}`;
    const adapter = bank.createRail();
    const rail = guardedRail(adapter);
    await rail.banks(); // a payer's bank is known from the first callback on
    this.#contracts.set(organisation.organisationId, { bank, adapter, rail });
    return bank;
  }

  async close(): Promise<string[]> {
    const contracts = [...this.#contracts.values()];
    await Promise.all(
      contracts.map(async ({ bank, adapter }) => {
        await adapter.close();
        await bank.fake.close();
      }),
    );
    return contracts.flatMap(({ bank }) => bank.fake.complaints);
  }

  /** Every contract so far. */
  contracts(): { organisationId: Uuid; bank: MonnifyScenarioBank }[] {
    return [...this.#contracts].map(([organisationId, { bank }]) => ({ organisationId, bank }));
  }

  ofBook({ organisationId }: Book): Promise<BankRail | null> {
    return Promise.resolve(this.#contracts.get(organisationId)?.rail ?? null);
  }

  accepts({ organisationId }: Book): Promise<boolean> {
    return Promise.resolve(this.#contracts.has(organisationId));
  }

  names(environment: Environment): Promise<string[]> {
    return Promise.resolve(environment === 'test' ? ['monnify'] : []);
  }

  ofContract(_environment: Environment, organisationId: Uuid) {
    const rail = this.#contracts.get(organisationId)?.rail;
    return Promise.resolve(rail === undefined ? null : { rail, organisationId });
  }
}
