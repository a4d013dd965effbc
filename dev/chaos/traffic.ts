// Carries out the commands of a plan as careful callers: wallets, payments and their credits, transfers, payments from
// wallets, withdrawals, refunds and payouts with every outcome of the bank, decisions about money in review, and own
// money that comes and goes. The bank takes credits back, charges, and pays out by itself.
import { until } from '../until.ts';
import { type Payer, sandboxBank, type TrafficBank } from './bank.ts';
import { acceptedBody, type Callers } from './callers.ts';
import type { Body, Operation, OperationKind } from './facts.ts';
import type { Act } from './plan.ts';
import { BUSINESS, type Destination, KYC, refundBody } from './requests.ts';

/** Enough for most of the plan's amounts; a wallet may hold six times as much. */
const FIRST_DEPOSIT = 5_000_000;
const WALLETS = 4;
const DEPOSITED_WITHIN_MS = 120_000;

/** Longer than callers take to get an answer. */
const HELD_FOR_MS = 30_000;

/** A payment expires within the run or long after it. */
const EXPIRES_LATE_SECONDS = 86_400;
/** Decisions, refunds and recalls after all else has ended. */
const AFTERWARDS = { reviews: 6, refunds: 4, recalls: 3 };

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
  /** Else a time that one API accepts has passed for another one. */
  readonly #clocksAgree: boolean;
  readonly #expiresSoonSeconds: number;
  readonly #references: string[] = [];
  readonly #late: (() => Promise<void>)[] = [];
  /** Of the credits that the bank may take back, by their names. */
  readonly #sessions: string[] = [];
  /** The settlement wallet; its account number, where own money is paid into that. */
  #own: { id: string; accountNumber: string | null } | null = null;

  /** `bank`: default: the sandbox bank. `expiresSoonSeconds`: at least what the API of the environment allows. */
  constructor(
    callers: Callers,
    options: {
      run: string;
      expireUntilMs: number;
      clocksAgree: boolean;
      expiresSoonSeconds: number;
      bank?: TrafficBank;
    },
  ) {
    this.#callers = callers;
    this.#bank = options.bank ?? sandboxBank(callers);
    this.#run = options.run;
    this.#expireUntilMs = options.expireUntilMs;
    this.#clocksAgree = options.clocksAgree;
    this.#expiresSoonSeconds = options.expiresSoonSeconds;
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
    const id = ((await this.#callers.ask('GET', '/wallets?kind=settlement'))?.items as Body[] | undefined)?.[0]?.id;
    if (id === undefined) return;
    const paidInto = this.#bank.fund === null ? await this.#callers.ask('GET', `/wallets/${id}/deposit-account`) : null;
    this.#own = { id, accountNumber: paidInto === null ? null : String(paidInto.accountNumber) };
  }

  /** A payer's transfer to a wallet. */
  async payInto(walletId: string): Promise<void> {
    const wallet = this.wallets.find(({ id }) => id === walletId);
    if (wallet !== undefined) await this.#recallable(wallet.accountNumber, 12_345, `frozen-${walletId}-${Date.now()}`);
  }

  /** Carries out one command. `name` is unique in the plan. */
  async do(act: Act, name: string, atMs: number): Promise<void> {
    switch (act.do) {
      case 'openWallet':
        return await this.#openWallet(name);
      case 'deposit':
        return await this.#recallable(this.#wallet(act.to).accountNumber, act.amount, name);
      case 'depositToUnknownAccount':
        return await this.#recallable('1234567890', act.amount, name);
      case 'payment':
        return await this.#requestPayment(act, name, atMs);
      case 'transfer': {
        const hold = this.#holdOf(act.amount);
        const body = { destinationWalletId: this.#wallet(act.to).id, amount: act.amount, ...(hold && { hold }) };
        await this.#money('transfer', `/wallets/${this.#wallet(act.from).id}/transfer`, body, name);
        if (hold === null) await this.#endHold(act.amount, name);
        return;
      }
      case 'pay': {
        const expiresIn = EXPIRES_LATE_SECONDS; // so that one that was refused does not expire while the judge reads
        const body = { method: 'virtual_wallet', baseAmount: act.base, ...this.#payees(act), expiresIn };
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
        return;
      }
      case 'review':
        return await this.#review(act.reviewCase, act.action, name);
      case 'recall': {
        const session = this.#sessions[act.credit % this.#sessions.length];
        if (session !== undefined) await this.#bank.recall(session);
        return;
      }
      case 'bankLine':
        return await this.#bank.addLine(act.kind, act.amount);
      case 'fund':
        if (this.#bank.fund !== null) this.#bank.fund(act.amount);
        else if (this.#own?.accountNumber) await this.#credit(this.#own.accountNumber, act.amount, name);
        return;
      case 'withdrawOwn': {
        if (this.#own === null) return;
        const body = { amount: act.amount, ...this.#bankAccount(act.destination, 0) };
        this.#remember(await this.#money('withdrawal', `/wallets/${this.#own.id}/withdraw`, body, name));
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

  /** What waits in review is credited, payments that were paid late are refunded, and credits are taken back. */
  async decideAfterwards(): Promise<void> {
    for (let index = 0; index < AFTERWARDS.reviews; index += 1) await this.#review(index, 'credit', `after-${index}`);
    for (let index = 0; index < AFTERWARDS.refunds; index += 1) {
      const refund = { do: 'refund', payment: index, percent: 33, destination: 'completes' } as const;
      await this.#refund(refund, `after-refund-${index}`, 'expired');
    }
    for (const session of this.#sessions.slice(-AFTERWARDS.recalls)) await this.#bank.recall(session);
  }

  async #review(position: number, action: Command<'review'>['action'], name: string): Promise<void> {
    const page = await this.#callers.ask('GET', '/review-cases?status=open&limit=100');
    const open = ((page?.items ?? []) as Body[]).filter(({ actions }) => (actions as string[]).includes(action));
    const id = open[position % open.length]?.id;
    if (id === undefined) return;
    await this.#money('review', `/review-cases/${id}/resolve`, { action, reason: 'a chaos run' }, `${name}-review`);
  }

  #wallet(position: number): OpenWallet {
    return this.wallets[position % this.wallets.length] as OpenWallet;
  }

  /**
   * The target of a payment, and the wallets that get a part of every third one; of every fifth each, it is held. The
   * fee of every eleventh is borne by the target, that of every ninth by a split.
   */
  #payees({ base, to }: Command<'payment' | 'pay'>) {
    const [target, courier, market] = [0, 1, 2].map((others) => this.#wallet(to + others).id);
    const [hold, holdOfPart] = [this.#holdOf(base), this.#holdOf(base + 1)];
    const payee = { targetWalletId: target, ...(hold && { hold }) };
    if (base % 3 > 0) return { ...payee, ...(base % 11 === 0 && { feeBearer: 'merchant' }) };
    const bearsFee = base % 9 === 0;
    return {
      ...payee,
      ...(bearsFee && { feeBearer: 'split' }),
      splits: [
        { walletId: courier, basisPoints: 1_234, bearsFee, ...(holdOfPart && { hold: holdOfPart }) },
        { walletId: market, amount: Math.ceil(base / 50) },
      ],
    };
  }

  /** Every fifth transfer is held: until a time, or until a later transfer has ended its hold. */
  #holdOf(amount: number): { release?: 'manual'; releaseAt?: string } | null {
    if (amount % 5 > 0) return null;
    return amount % 2 === 0 || !this.#clocksAgree
      ? { release: 'manual' }
      : { releaseAt: new Date(Date.now() + HELD_FOR_MS).toISOString() };
  }

  /** Releases all of an open hold, also of a payment and before its time, releases a part of it, or cancels it. */
  async #endHold(amount: number, name: string): Promise<void> {
    const page = await this.#callers.ask('GET', '/holds?status=held&limit=100');
    const open = (page?.items ?? []) as Body[];
    const id = open[amount % open.length]?.id;
    if (id === undefined) return;
    if (amount % 3 === 0) await this.#money('hold', `/holds/${id}/cancel`, {}, `${name}-cancel`);
    else await this.#money('hold', `/holds/${id}/release`, amount % 3 === 1 ? { amount: 1 } : {}, `${name}-release`);
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
   * Every tenth is of a business, whose limits of a day and month it reaches.
   */
  async #openWallet(name: string): Promise<void> {
    const externalReference = this.#key(name);
    const body = { email: 'ada@test.example', fullName: 'Ada Obi', externalReference };
    const one = await this.#callers.send({ kind: 'wallet', path: '/wallets', body, key: null });
    if (one.answer?.body.code === 'EXTERNAL_REFERENCE_TAKEN') await this.#adopt(one, externalReference);
    const id = acceptedBody(one.answer)?.id;
    if (id === undefined) return;
    const kyc = name.endsWith('3') ? BUSINESS : KYC;
    await this.#callers.send({ kind: 'kyc', path: `/wallets/${id}/kyc`, body: kyc, key: null });
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
      ...this.#payees(command),
      expiresIn: expiresSoon ? this.#expiresSoonSeconds : EXPIRES_LATE_SECONDS,
    };
    const payment = await this.#money('payment', '/payments', body, name);
    if (payment === null) return;
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    const send = async (): Promise<void> => {
      for (const [position, share] of command.shares.entries()) {
        const amount = Math.max(1, Math.round((Number(payment.payableAmount) * share) / 100));
        const session = `${name}-${position}`;
        const payer = this.#bank.accountOf(command.payer, '');
        await this.#recallable(accountNumber, amount, session, payer);
        if (command.repeated) await this.#bank.repeatCredit(accountNumber, amount, this.#key(session), payer);
      }
    };
    if (command.base % 7 === 0) await this.#money('pay', `/payments/${payment.id}/cancel`, {}, `${name}-cancel`);
    const isLate = command.late || (this.#late.length === 0 && command.shares.length > 0);
    if (isLate && expiresSoon) this.#late.push(send);
    else await send();
  }

  async #refund(
    { payment, percent, destination }: Command<'refund'>,
    name: string,
    status: 'settled' | 'expired' = 'settled',
  ): Promise<void> {
    const page = await this.#callers.ask('GET', `/payments?status=${status}&limit=100`);
    const paid = ((page?.items ?? []) as Body[]).filter(({ amountReceived }) => Number(amountReceived) > 0);
    const target = paid[payment % paid.length];
    if (target === undefined) return;
    const body = refundBody(target, { percent, accountNumber: this.#bank.accountOf(destination, '').accountNumber });
    // The settlement wallet pays every third one: those that got the payment owe it.
    const funded = this.#own !== null && (payment + percent) % 3 === 0;
    const funding = funded ? { fundedBy: this.#own?.id, recover: true } : {};
    const refund = await this.#money('refund', `/payments/${target.id}/refund`, { ...body, ...funding }, name);
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

  /** One that the bank may take back. */
  async #recallable(accountNumber: string, amount: number, name: string, payer?: Payer): Promise<void> {
    await this.#credit(accountNumber, amount, name, payer);
    this.#sessions.push(this.#key(name));
  }

  /** A payer's transfer to this account, which the bank knows by its session. */
  async #credit(accountNumber: string, amount: number, session: string, payer?: Payer): Promise<void> {
    await this.#bank.credit(accountNumber, amount, this.#key(session), payer);
  }
}
