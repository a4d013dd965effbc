// One organisation's resources in a test of verification, and what the test breaks in them.
import { requireUuid, type Uuid } from '../../src/ids.ts';
import type { Movement, RowTable } from '../../src/ledger/movement.ts';
import type { Book } from '../../src/money.ts';
import type { ConfirmedCredit } from '../../src/resources/inboundCredits/confirm.ts';
import { creditToSuspense } from '../../src/resources/inboundCredits/movements.ts';
import { creditMovement, paymentAfter } from '../../src/resources/payments/movements.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { findPayout, type PayoutItem } from '../../src/resources/payouts/queries.ts';
import type { Finding } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import type { TestApi, TestOrganisation } from '../support/api.ts';
import { newCredit } from '../support/rows.ts';

export const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** The resources of one organisation, and what each test breaks. */
export class Stage {
  readonly api: TestApi;
  readonly organisation: TestOrganisation;
  readonly book: Book;

  constructor(api: TestApi, organisation: TestOrganisation) {
    this.api = api;
    this.organisation = organisation;
    this.book = { organisationId: organisation.organisationId, environment: 'test' };
  }

  wallet(balance?: number): Promise<string> {
    return this.api.createWallet(this.organisation.test, balance === undefined ? {} : { balance });
  }

  async money(path: string, body: object): Promise<string> {
    const { status, text, data } = await this.organisation.test.money(path, body);
    if (status >= 300) throw new Error(`refused: ${text}`);
    return data.id;
  }

  withdrawal = async () =>
    this.money(`/wallets/${await this.wallet(103_000)}/withdraw`, { amount: 100_000, ...BANK_ACCOUNT });

  /** A payout of one item, which is in its reserve. */
  async payout(): Promise<{ payout: string; item: PayoutItem }> {
    const items = [{ amount: 100_000, bankAccount: BANK_ACCOUNT }];
    const payout = await this.money('/payouts', { sourceWalletId: await this.wallet(103_000), items });
    const [item] = (await findPayout(this.api.sql, this.book, requireUuid('payout', payout)))?.items ?? [];
    if (item === undefined) throw new Error('the payout has no item');
    return { payout, item };
  }

  async paidPayment(): Promise<{ paymentId: string; seller: string }> {
    const [payer, seller] = [await this.wallet(100_000), await this.wallet()];
    const bill = { method: 'virtual_wallet', baseAmount: 50_000, targetWalletId: seller };
    const paymentId = await this.money('/payments', bill);
    await this.money(`/wallets/${payer}/pay`, { paymentId });
    return { paymentId, seller };
  }

  /** A payment of 100,000 by bank transfer, settled by 101,000 or held in suspense with less. */
  async paidByBank(amount: number): Promise<string> {
    const bill = { method: 'bank_transfer', baseAmount: 100_000, targetWalletId: await this.wallet() };
    const paymentId = await this.money('/payments', bill);
    const payment = await findPayment(this.api.sql, this.book, requireUuid('payment', paymentId));
    if (payment === null) throw new Error('the payment was not created');
    const settles = { kind: 'settle', toWallet: 100_000, toFees: 1_000, toSuspense: 0, alreadyHeld: 0 } as const;
    const decision = { amountReceived: amount, ...(amount === 101_000 ? settles : ({ kind: 'hold' } as const)) };
    const next = paymentAfter(payment, decision);
    await this.posted(creditMovement(this.book, payment, next, creditOf(amount, payment.id), decision));
    return paymentId;
  }

  /** Puts a credit of 700 in suspense, with its review case. */
  async suspend(): Promise<void> {
    await this.posted(creditToSuspense(this.book, creditOf(700, null), 'unknown_account', null));
  }

  async posted(movement: Movement): Promise<void> {
    const { outcome } = await this.api.dependencies.journal.post(movement);
    if (outcome !== 'posted') throw new Error(`the movement was ${outcome}`);
  }

  post(movement: Omit<Movement, 'book'>): Promise<void> {
    return this.posted({ book: this.book, ...movement });
  }

  /** Writes a row of the resource in its next version, without a transaction, as a wrong program could. */
  async write(table: RowTable, id: Uuid, change: object): Promise<void> {
    const [row] = await this.api.sql.unsafe(`SELECT * FROM ${table} WHERE organisation_id = $1 AND id = $2`, [
      this.book.organisationId,
      id,
    ]);
    const { environment: _environment, organisationId: _organisationId, ...fields } = row as Record<string, unknown>;
    await this.post({ rows: { [table]: [{ ...fields, version: Number(fields.version) + 1, ...change }] } });
  }

  /** The findings of this organisation: kind, resource, account, expected and found. */
  async findings(): Promise<string[]> {
    // The books of the tests before are not verified again.
    const { findings } = await verifyBooks(this.api.sql, { pageSize: 3, only: this.book.organisationId });
    return findings.map(describeFinding);
  }
}

/** A credit that was just received, to a payment or to no account of ours. */
export const creditOf = (amount: number, paymentId: Uuid | null): ConfirmedCredit =>
  newCredit({ version: 0, amount, ownerKind: paymentId === null ? null : 'payment', ownerId: paymentId });

const describeFinding = ({ kind, resource, account, transaction, expected, found }: Finding): string =>
  `${kind} ${resource ?? '-'} ${transaction ?? account}: ${expected}, found ${found}`;
