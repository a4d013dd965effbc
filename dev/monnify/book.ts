// The books of the Monnify fake: account numbers, collections, transfers and the wallet, in kobo. It shares no code
// with the adapter that is tested against it.
import { randomInt } from 'node:crypto';

export interface Invoice {
  reference: string;
  amount: bigint;
  description: string;
  expiryDate: string;
  status: 'PENDING' | 'PAID' | 'CANCELLED' | 'EXPIRED';
  accountNumber: string;
  transactionReference: string;
  createdAt: Date;
  customerName: string;
  customerEmail: string;
}

export interface ReservedAccount {
  reference: string;
  accountName: string;
  accountNumber: string;
  status: 'ACTIVE' | 'DEACTIVATED';
  createdAt: Date;
}

export interface Collection {
  transactionReference: string;
  productType: 'INVOICE' | 'RESERVED_ACCOUNT' | 'WEB_SDK';
  productReference: string;
  accountNumber: string;
  amount: bigint;
  fee: bigint;
  paymentMethod: 'ACCOUNT_TRANSFER' | 'CARD';
  status: string;
  createdAt: Date;
  paidAt: Date;
  payer: { name: string; accountNumber: string; bankCode: string };
  settlement: string | null;
}

export interface TransferStep {
  status: string;
  comment?: string;
  /** The next step follows at once, so that nobody sees this one. */
  passes?: true;
}

export interface FakeTransfer {
  reference: string;
  transactionReference: string;
  amount: bigint;
  fee: bigint;
  narration: string;
  accountNumber: string;
  accountName: string;
  bankCode: string;
  createdAt: Date;
  /** The current step is the first one. */
  steps: TransferStep[];
  twoFaEnabled: boolean;
  timesSent: number;
  timesPaid: number;
  timesReturned: number;
  /** Status queries that are answered with "not found" although the transfer exists. */
  hiddenFor: number;
}

export interface WalletEntry {
  reference: string;
  type: 'DEBIT' | 'CREDIT';
  amount: bigint;
  balanceBefore: bigint;
  balanceAfter: bigint;
  at: Date;
  narration: string;
}

/** The list prices of 2025. */
export const collectionFee = (amount: bigint): bigint => {
  const share = (amount * 150n + 9_999n) / 10_000n;
  return share > 200_000n ? 200_000n : share;
};
export const transferFee = (amount: bigint): bigint =>
  amount < 1_000_000n ? 1_000n : amount < 5_000_000n ? 2_000n : 4_000n;

/** Two equal transfers to one account within this time: D07. */
const DUPLICATE_GUARD_MS = 120_000;

export class MonnifyBook {
  readonly invoices = new Map<string, Invoice>();
  readonly reserved = new Map<string, ReservedAccount>();
  readonly collections = new Map<string, Collection>();
  readonly transfers = new Map<string, FakeTransfer>();
  readonly wallet: WalletEntry[] = [];
  balance: bigint;
  /** Whether the charge of a transfer is in the amount of its row or a row of its own: Monnify does not say. */
  feeRows: 'in_amount' | 'own_row' = 'in_amount';
  /** Whether the charge comes back with a transfer, in its row or in a row of its own as it was taken. */
  returnsFees = false;
  readonly #now: () => Date;
  #count = 0;

  constructor(now: () => Date, balance: bigint) {
    this.#now = now;
    this.balance = balance;
  }

  /** Collected and not settled to the wallet yet. */
  get collected(): bigint {
    return [...this.collections.values()]
      .filter(({ settlement, status }) => settlement === null && status === 'PAID')
      .reduce((sum, { amount, fee }) => sum + amount - fee, 0n);
  }

  newReference(prefix: 'MNFY' | 'MFDS'): string {
    this.#count += 1;
    const time = lagosTime(this.#now()).replaceAll(/\D/g, '').slice(0, 14);
    const count = String(this.#count).padStart(6, '0');
    return prefix === 'MNFY' ? `MNFY|17|${time}|${count}` : `MFDS${randomInt(10, 99)}${time}${count}JDW8UZ`;
  }

  newAccountNumber(): string {
    this.#count += 1;
    return `68${String(this.#count).padStart(8, '0')}`;
  }

  isTwin(accountNumber: string, amount: bigint): boolean {
    const since = this.#now().getTime() - DUPLICATE_GUARD_MS;
    return [...this.transfers.values()].some(
      (one) => one.accountNumber === accountNumber && one.amount === amount && one.createdAt.getTime() > since,
    );
  }

  /** What can be paid out, less what is on its way. */
  get available(): bigint {
    const pending = [...this.transfers.values()].filter(({ steps }) =>
      /^(PENDING|AWAITING|IN_)/.test(steps[0]?.status ?? ''),
    );
    return this.balance - pending.reduce((sum, { amount, fee }) => sum + amount + fee, 0n);
  }

  /** Moves a transfer to its next step, with the money that belongs to it. False: it is at its last one. */
  advance(transfer: FakeTransfer): boolean {
    const [before, after] = transfer.steps;
    if (before === undefined || after === undefined) return false;
    transfer.steps.shift();
    this.enter(transfer);
    if (after.passes) this.advance(transfer);
    return true;
  }

  /** Books what the current step of a transfer means. */
  enter(transfer: FakeTransfer): void {
    const status = transfer.steps[0]?.status;
    const { amount, fee, transactionReference: own, narration, reference, accountNumber } = transfer;
    const text = `${own}/#/${reference}/#/${narration}/#/GTBank/#/${accountNumber}`;
    if (status === 'SUCCESS' || status === 'COMPLETED') {
      transfer.timesPaid += 1;
      if (this.feeRows === 'in_amount') {
        this.book('DEBIT', amount + fee, `${own}_DEBIT_0`, text);
      } else {
        this.book('DEBIT', amount, `${own}_DEBIT_0`, text);
        this.book('DEBIT', fee, `${own}_DEBIT_1`, text);
      }
    }
    // A failure after the payment brings the money back too; whether Monnify ever reports one is not documented.
    if (status === 'REVERSED' || (status === 'FAILED' && transfer.timesPaid > transfer.timesReturned)) {
      transfer.timesReturned += 1;
      const isOneRow = this.returnsFees && this.feeRows === 'in_amount';
      this.book('CREDIT', isOneRow ? amount + fee : amount, `${own}_CREDIT_0`, text);
      if (this.returnsFees && !isOneRow) this.book('CREDIT', fee, `${own}_CREDIT_1`, text);
    }
  }

  book(type: 'DEBIT' | 'CREDIT', amount: bigint, reference: string, narration: string): void {
    const balanceBefore = this.balance;
    this.balance += type === 'CREDIT' ? amount : -amount;
    this.wallet.push({
      reference,
      type,
      amount,
      balanceBefore,
      balanceAfter: this.balance,
      at: this.#now(),
      narration,
    });
  }

  /** A collection is taken back with its charge, unless it was settled: how that would look is not documented. */
  recall(transactionReference: string): void {
    const collection = this.collections.get(transactionReference);
    if (collection?.status === 'PAID' && collection.settlement === null) collection.status = 'REVERSED';
  }

  /** Moves what was collected to the wallet, net of charges. Null: there is nothing. */
  settle(): { reference: string; amount: bigint; collections: Collection[] } | null {
    const collections = [...this.collections.values()].filter(
      (one) => one.settlement === null && one.status === 'PAID',
    );
    const amount = this.collected;
    if (collections.length === 0) return null;
    this.#count += 1;
    const reference = `STL${String(this.#count).padStart(17, '0')}`;
    for (const one of collections) one.settlement = reference;
    this.book('CREDIT', amount, `${reference}_CREDIT_0`, `SETTLEMENT/#/${reference}/#/Wallet settlement`);
    return { reference, amount, collections };
  }
}

/** `yyyy-MM-dd HH:mm:ss.SSS` in Lagos. */
export const lagosTime = (time: Date): string =>
  new Date(time.getTime() + 3_600_000).toISOString().slice(0, 23).replace('T', ' ');

/** `17/03/2021 3:23:32 AM` in Lagos. */
export function lagosTimeForPeople(time: Date): string {
  const [date = '', clock = ''] = lagosTime(time).split(' ');
  const [hour = 0, minute, second] = clock.slice(0, 8).split(':');
  const half = Number(hour) < 12 ? 'AM' : 'PM';
  return `${date.split('-').toReversed().join('/')} ${Number(hour) % 12 || 12}:${minute}:${second} ${half}`;
}

/** Naira as a JSON number with two decimals. */
export const naira = (kobo: bigint): unknown => {
  const digits = String(kobo).padStart(3, '0');
  const text = `${digits.slice(0, -2)}.${digits.slice(-2)}`;
  return (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(text);
};

/** Naira as a text. */
export const nairaText = (kobo: bigint): string => JSON.stringify(naira(kobo));
