// Carries out the commands of a plan as careful callers: wallets, payments and their credits, transfers, payments from
// wallets, withdrawals, refunds and payouts with every outcome of the sandbox bank.
import { until } from '../until.ts';
import { type Payer, sandboxBank, type TrafficBank } from './bank.ts';
import { acceptedBody, type Callers } from './callers.ts';
import type { Body, Operation, OperationKind } from './facts.ts';
import type { Act } from './plan.ts';
import { type Destination, KYC, refundBody } from './requests.ts';

/** Enough for most of the plan's amounts; a wallet may hold six times as much. */
const FIRST_DEPOSIT = 5_000_000;
const WALLETS = 4;
const DEPOSITED_WITHIN_MS = 120_000;

/** A payment expires within the run, at the earliest that the API allows, or long after it. */
const EXPIRES_SOON_SECONDS = 60;
const EXPIRES_LATE_SECONDS = 86_400;

interface OpenWallet {
  id: string;
  accountNumber: string;
}

type Command<Name extends Act['do']> = Extract<Act, { do: Name }>;

export class Traffic {
  readonly wallets: OpenWallet[] = [];
  readonly #callers: Callers;
  readonly #bank: TrafficBank;
  /** Distinguishes the keys and session ids of this run. */
  readonly #run: string;
  /** Payments made in the first part of a run expire before its end. */
  readonly #expireUntilMs: number;
  readonly #references: string[] = [];
  readonly #late: (() => Promise<void>)[] = [];

  /** `bank`: default: the sandbox bank. */
  constructor(callers: Callers, options: { run: string; expireUntilMs: number; bank?: TrafficBank }) {
    this.#callers = callers;
    this.#bank = options.bank ?? sandboxBank(callers);
    this.#run = options.run;
    this.#expireUntilMs = options.expireUntilMs;
  }

  /** Opens the first wallets and credits them. Resolves when they have the money. */
  async open(): Promise<void> {
    await Promise.all(Array.from({ length: WALLETS }, (_, index) => this.#openWallet(`first-${index}`)));
    await Promise.all(
      this.wallets.map(({ accountNumber }, index) => this.#credit(accountNumber, FIRST_DEPOSIT, `first-${index}`)),
    );
    for (const { id } of this.wallets) {
      const hasArrived = async () =>
        (await this.#callers.ask('GET', `/wallets/${id}/balance`))?.balance === FIRST_DEPOSIT || undefined;
      await until('the first deposits', hasArrived, DEPOSITED_WITHIN_MS);
    }
  }

  /** Carries out one command. `name` is unique in the plan. */
  async do(act: Act, name: string, atMs: number): Promise<void> {
    switch (act.do) {
      case 'openWallet':
        return await this.#openWallet(name);
      case 'deposit':
        return await this.#credit(this.#wallet(act.to).accountNumber, act.amount, name);
      case 'depositToUnknownAccount':
        return await this.#credit('1234567890', act.amount, name);
      case 'payment':
        return await this.#requestPayment(act, name, atMs);
      case 'transfer': {
        const body = { destinationWalletId: this.#wallet(act.to).id, amount: act.amount };
        await this.#money('transfer', `/wallets/${this.#wallet(act.from).id}/transfer`, body, name);
        return;
      }
      case 'pay': {
        const body = { method: 'virtual_wallet', baseAmount: act.base, targetWalletId: this.#wallet(act.to).id };
        const payment = await this.#money('payment', '/payments', body, name);
        if (payment === null) return;
        await this.#money('pay', `/wallets/${this.#wallet(act.from).id}/pay`, { paymentId: payment.id }, `${name}-pay`);
        return;
      }
      case 'withdraw': {
        const body = { amount: act.amount, ...this.#bankAccount(act.destination, act.from) };
        const path = `/wallets/${this.#wallet(act.from).id}/withdraw`;
        this.#remember(await this.#money('withdrawal', path, body, name));
        return;
      }
      case 'refund':
        return await this.#refund(act, name);
      case 'payout':
        return await this.#payOut(act, name);
      case 'endTransfer': {
        const reference = this.#references[act.transfer % this.#references.length];
        if (reference === undefined) return;
        await this.#bank.endTransfer(reference, act.outcome);
      }
    }
  }

  /** The bank ends the transfers that it holds, and is available again for all accounts. */
  async endHeldTransfers(): Promise<void> {
    await this.#bank.release();
  }

  /** Payers send the credits that come after the expiry of their payments. */
  async sendLateCredits(): Promise<void> {
    await Promise.all(this.#late.splice(0).map((send) => send()));
  }

  #wallet(position: number): OpenWallet {
    return this.wallets[position % this.wallets.length] as OpenWallet;
  }

  #remember(resource: Body | null): void {
    if (resource?.id !== undefined) this.#references.push(resource.id);
  }

  #key(name: string): string {
    return `${this.#run}-${name}`;
  }

  /** Sends a request that moves money. Returns the resource; null when it was refused. */
  async #money(kind: OperationKind, path: string, body: Record<string, unknown>, name: string): Promise<Body | null> {
    return acceptedBody((await this.#callers.send({ kind, path, body, key: this.#key(name) })).answer);
  }

  /**
   * `POST /wallets` takes no key: the external reference makes it one wallet, which the caller looks up after a 409.
   */
  async #openWallet(name: string): Promise<void> {
    const externalReference = this.#key(name);
    const body = { email: 'ada@test.example', fullName: 'Ada Obi', externalReference };
    const one = await this.#callers.send({ kind: 'wallet', path: '/wallets', body, key: null });
    if (one.answer?.body.code === 'EXTERNAL_REFERENCE_TAKEN') await this.#adopt(one, externalReference);
    const id = acceptedBody(one.answer)?.id;
    if (id === undefined) return;
    await this.#callers.send({ kind: 'kyc', path: `/wallets/${id}/kyc`, body: KYC, key: null });
    const account = await this.#callers.ask('GET', `/wallets/${id}/deposit-account`);
    if (account !== null) this.wallets.push({ id, accountNumber: String(account.accountNumber) });
  }

  /** The wallet of an earlier attempt, whose response was lost, is the answer. */
  async #adopt(one: Operation, externalReference: string): Promise<void> {
    const found = await this.#callers.ask('GET', `/wallets?externalReference=${externalReference}`);
    const [wallet] = (found?.items ?? []) as Body[];
    if (wallet !== undefined) one.answer = { status: 201, body: wallet, replayed: false };
  }

  async #requestPayment(command: Command<'payment'>, name: string, atMs: number): Promise<void> {
    const expiresSoon = atMs < this.#expireUntilMs;
    const body = {
      method: 'bank_transfer',
      baseAmount: command.base,
      targetWalletId: this.#wallet(command.to).id,
      expiresIn: expiresSoon ? EXPIRES_SOON_SECONDS : EXPIRES_LATE_SECONDS,
    };
    const payment = await this.#money('payment', '/payments', body, name);
    if (payment === null) return;
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    const send = async (): Promise<void> => {
      for (const [position, share] of command.shares.entries()) {
        const amount = Math.max(1, Math.round((Number(payment.payableAmount) * share) / 100));
        const session = `${name}-${position}`;
        const payer = this.#bank.accountOf(command.payer, '');
        await this.#credit(accountNumber, amount, session, payer);
        if (command.repeated) await this.#bank.repeatCredit(accountNumber, amount, this.#key(session), payer);
      }
    };
    if (command.late && expiresSoon) this.#late.push(send);
    else await send();
  }

  async #refund({ payment, percent, destination }: Command<'refund'>, name: string): Promise<void> {
    const page = await this.#callers.ask('GET', '/payments?status=settled&limit=100');
    const settled = (page?.items ?? []) as Body[];
    const target = settled[payment % settled.length];
    if (target === undefined) return;
    const body = refundBody(target, { percent, accountNumber: this.#bank.accountOf(destination, '').accountNumber });
    const refund = await this.#money('refund', `/payments/${target.id}/refund`, body, name);
    if (refund?.destination === 'bank') this.#remember(refund);
  }

  async #payOut({ from, items }: Command<'payout'>, name: string): Promise<void> {
    const body = {
      sourceWalletId: this.#wallet(from).id,
      items: items.map(({ amount, destination }) => ({ amount, bankAccount: this.#bankAccount(destination, from) })),
    };
    const payout = await this.#money('payout', '/payouts', body, name);
    for (const item of (payout?.items ?? []) as Body[]) this.#remember(item);
  }

  #bankAccount(destination: Destination | 'ownWallet', position: number): Payer {
    return this.#bank.accountOf(destination, this.#wallet(position + 1).accountNumber);
  }

  /** A payer's transfer to this account, which the bank knows by its session. */
  async #credit(accountNumber: string, amount: number, session: string, payer?: Payer): Promise<void> {
    await this.#bank.credit(accountNumber, amount, this.#key(session), payer);
  }
}
