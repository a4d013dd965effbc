// A fake of Monnify: a real HTTP server on this machine, with its own books. It refuses what Monnify refuses,
// notes what the adapter must never send, and misbehaves on request. `npm run demo -- --rail monnify-fake` and
// the tests of the adapter use it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, collectionFee, type FakeTransfer, MonnifyBook } from './book.ts';
import type { Defect } from './defects.ts';
import {
  collectionEvent,
  disbursementEvent,
  rejectionEvent,
  type SignedEvent,
  settlementEvent,
  signEvent,
} from './events.ts';
import { FAKE_CREDENTIALS } from './fakeCredentials.ts';
import { answerWith, type Fault, REFUSALS } from './faults.ts';
import { noFaults } from './lists.ts';
import { type PlannedFault, Plans } from './plans.ts';
import { ROUTES, respond } from './responses.ts';
import { faultOf, type Incoming } from './rules.ts';

const TOKEN_LIFE_MS = 3_600_000;
/** A callback that is not accepted is repeated; how often and when Monnify does so is not documented. */
const REPEATS_MAX = 8;
const FIRST_REPEAT_AFTER_MS = 100;

export interface FakeOptions {
  now?: () => Date;
  /** The wallet at the start, in kobo. */
  balance?: bigint;
  /** Where callbacks are sent, as in Monnify's dashboard; null: nowhere. They are kept in `events` either way. */
  callbackUrl?: string | null;
  /** Transfers move to their next step by themselves after this time; null: only by `advance`. */
  stepMs?: number | null;
  port?: number;
}

export class MonnifyFake {
  readonly book: MonnifyBook;
  readonly plans = new Plans();
  readonly now: () => Date;
  /** Requests that the adapter must never send. */
  readonly complaints: string[] = [];
  /** All callbacks so far, signed. */
  readonly events: SignedEvent[] = [];
  /** `method route` of every request so far. */
  readonly requests: string[] = [];
  logins = 0;
  /** Whether transfers wait for a one-time password, as in a new contract. */
  otp = false;
  /** Whether our address may send transfers. */
  listed = true;
  /** Whether an equal transfer is refused (D07) before a reference is (D05): the order is not documented. */
  guardFirst = false;
  /** How often it has answered D07. */
  guarded = 0;
  /** How often the status of a new transfer is not found yet. */
  hiddenFor = 0;
  readonly lists = noFaults();
  /** What it does otherwise than documented. */
  readonly defects = new Set<Defect>();
  /** Name enquiries so far. */
  enquiries = 0;
  /** Callbacks that are not accepted yet, and will be repeated. */
  sending = 0;
  callbackUrl: string | null;
  baseUrl = '';
  readonly #options: FakeOptions;
  readonly #server: Server;
  readonly #tokens = new Map<string, number>();
  readonly #faults: (PlannedFault & { route: string })[] = [];
  readonly #refusals: { route: string; status: number; body: string; acts: boolean; saysExists: boolean }[] = [];
  #stepping = Promise.resolve();
  #closed = new AbortController();

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.now = options.now ?? (() => new Date());
    this.callbackUrl = options.callbackUrl ?? null;
    this.book = new MonnifyBook(this.now, options.balance ?? 1_000_000_000n);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#options.port ?? 0, '127.0.0.1', resolve));
    this.baseUrl = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const { stepMs = null } = this.#options;
    if (stepMs !== null) this.#stepping = this.#step(stepMs);
    return this;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#stepping;
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** What the adapter needs to reach it. */
  get credentials() {
    return { ...FAKE_CREDENTIALS, baseUrl: this.baseUrl };
  }

  /** The next responses of a route go wrong. `acts`: the request has its effect all the same. */
  break(route: string, fault: Fault, { acts = false, times = 1 }: { acts?: boolean; times?: number } = {}): void {
    if (!ROUTES.some((known) => known.route === route)) throw new Error(`the fake has no route ${route}`);
    this.#faults.push({ route, fault, acts: acts && !REFUSALS.has(fault), times });
  }

  /**
   * The next request of a route is refused in these words. `acts`: it has its effect all the same; that a reference
   * exists is then said only where it does.
   */
  refuse(route: string, status: number, responseCode: string, responseMessage: string, acts = false): void {
    if (!ROUTES.some((known) => known.route === route)) throw new Error(`the fake has no route ${route}`);
    const body = JSON.stringify({ requestSuccessful: false, responseMessage, responseCode });
    this.#refusals.push({ route, status, body, acts, saysExists: responseCode === 'D05' });
  }

  /** The responses of a route go well again. */
  mend(route: string): void {
    for (const fault of this.#faults) if (fault.route === route) fault.times = 0;
  }

  /** Ends every token, so that the next request is refused with 401. */
  expireTokens(): void {
    this.#tokens.clear();
  }

  /** A customer pays into an account number. An invoice takes its amount only, once, and until it expires. */
  async pay(
    accountNumber: string,
    amount: bigint,
    payer = { name: 'CHIDI EZE', accountNumber: '0065432190', bankCode: '000014' },
  ): Promise<Collection | 'rejected' | 'no_account'> {
    const invoice = [...this.book.invoices.values()].find((one) => one.accountNumber === accountNumber);
    const reserved = [...this.book.reserved.values()].find((one) => one.accountNumber === accountNumber);
    if (invoice !== undefined) {
      const isOpen = invoice.status === 'PENDING' && `${invoice.expiryDate}.000` > this.lagosNow();
      if (!isOpen) return 'rejected';
      if (invoice.amount !== amount && !this.defects.has('any_amount')) {
        await this.notify(rejectionEvent(invoice, amount, payer, this.now()));
        return 'rejected';
      }
      invoice.status = 'PAID';
      const { reference, transactionReference, createdAt } = invoice;
      return await this.collect({
        transactionReference,
        productType: 'INVOICE',
        productReference: reference,
        accountNumber,
        amount,
        payer,
        createdAt,
      });
    }
    if (reserved === undefined || reserved.status !== 'ACTIVE') return 'no_account';
    return await this.collect({
      transactionReference: this.book.newReference('MNFY'),
      productType: 'RESERVED_ACCOUNT',
      productReference: reserved.reference,
      accountNumber,
      amount,
      payer,
      createdAt: this.now(),
    });
  }

  /** Books a collection, and reports of it. */
  async collect(
    given: Pick<
      Collection,
      'transactionReference' | 'productType' | 'productReference' | 'accountNumber' | 'amount' | 'payer' | 'createdAt'
    > &
      Partial<Collection>,
  ): Promise<Collection> {
    const collection: Collection = {
      fee: collectionFee(given.amount),
      paymentMethod: 'ACCOUNT_TRANSFER',
      status: 'PAID',
      paidAt: this.now(),
      settlement: null,
      ...given,
    };
    this.book.collections.set(collection.transactionReference, collection);
    await this.notify(collectionEvent(collection));
    return collection;
  }

  /** The organisation pays money into the wallet. */
  fund(amount: bigint): void {
    const reference = `MFY-WT-${this.book.wallet.length + 1}`;
    this.book.book('CREDIT', amount, reference, `${reference}/#/Wallet funding`);
  }

  /** Moves a transfer to its next step, and reports when it has ended. */
  async advance(reference: string): Promise<void> {
    const transfer = this.transfer(reference);
    if (!this.book.advance(transfer)) return;
    const event = disbursementEvent(transfer, this.now());
    if (event !== null) await this.notify(event);
  }

  /** Replaces the steps that a transfer has left, and enters the first of them. */
  async end(reference: string, status: 'SUCCESS' | 'FAILED' | 'REVERSED', comment?: string): Promise<void> {
    const transfer = this.transfer(reference);
    const next = comment === undefined ? { status } : { status, comment };
    transfer.steps = [transfer.steps[0] ?? { status: 'PENDING' }, next];
    await this.advance(reference);
  }

  /** Settles what was collected to the wallet. */
  async settle(): Promise<bigint> {
    const settlement = this.book.settle();
    if (settlement === null) return 0n;
    await this.notify(settlementEvent(settlement, this.now()));
    return settlement.amount;
  }

  transfer(reference: string): FakeTransfer {
    const transfer = this.book.transfers.get(reference);
    if (transfer === undefined) throw new Error(`the fake has no transfer ${reference}`);
    return transfer;
  }

  /** Signs an event and sends it to the callback address. */
  async notify(event: object): Promise<void> {
    const signed = signEvent(event, FAKE_CREDENTIALS.secretKey);
    this.events.push(signed);
    await this.send(signed);
  }

  /** Sends an event until it is accepted or refused. Resolves after the first attempt. */
  async send(event: SignedEvent): Promise<void> {
    if (this.callbackUrl === null) return;
    this.sending += 1;
    if (await this.#attempt(event)) this.sending -= 1;
    else void this.#repeat(event);
  }

  async #repeat(event: SignedEvent): Promise<void> {
    const { signal } = this.#closed;
    for (let count = 0; count < REPEATS_MAX; count += 1) {
      await delay(FIRST_REPEAT_AFTER_MS * 2 ** count, undefined, { signal }).catch(() => {});
      if (signal.aborted || (await this.#attempt(event))) break;
    }
    this.sending -= 1;
  }

  /** Whether there was a response, which may be a refusal, and is not repeated then. */
  async #attempt({ headers, body }: SignedEvent): Promise<boolean> {
    if (this.callbackUrl === null) return true;
    const init = { method: 'POST', headers, body: new Uint8Array(body), signal: this.#closed.signal };
    const response = await fetch(this.callbackUrl, init).catch(() => null);
    await response?.arrayBuffer().catch(() => {});
    return response !== null && response.status < 500;
  }

  lagosNow(): string {
    return new Date(this.now().getTime() + 3_600_000).toISOString().slice(0, 23).replace('T', ' ');
  }

  isTokenGood(token: string): boolean {
    return (this.#tokens.get(token) ?? 0) > this.now().getTime();
  }

  newToken(): string {
    this.logins += 1;
    if (this.defects.has('one_token')) this.#tokens.clear();
    const token = `eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.fake${this.logins}`;
    this.#tokens.set(token, this.now().getTime() + TOKEN_LIFE_MS);
    return token;
  }

  async #step(stepMs: number): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await delay(stepMs, undefined, { signal }).catch(() => {});
      const moving = [...this.book.transfers.values()].filter(({ steps }) => steps.length > 1);
      for (const { reference } of moving) if (!signal.aborted) await this.advance(reference);
    }
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer);
    } catch {
      return; // the client went away
    }
    const url = new URL(message.url ?? '/', this.baseUrl);
    const incoming: Incoming = {
      method: message.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      text: Buffer.concat(chunks).toString('utf8'),
    };
    const found = ROUTES.map((known) => ({
      known,
      match: known.pattern.exec(`${incoming.method} ${incoming.path}`),
    })).find(({ match }) => match !== null);
    const route = found?.known.route ?? `${incoming.method} ${incoming.path}`;
    this.requests.push(route);
    const planned =
      this.#faults.find((one) => one.route === route && one.times > 0) ?? this.plans.faultOf(route, incoming);
    if (planned !== undefined) planned.times -= 1;
    const acts = planned === undefined || planned.acts;
    const { status, body } = acts
      ? this.#handle(route, found?.known, found?.match?.groups ?? {}, incoming)
      : { status: 200, body: '{"requestSuccessful":true,"responseMessage":"success","responseCode":"0"}' };
    if (planned !== undefined) answerWith(planned.fault, response, body, String(incoming.headers.authorization));
    else {
      const time = new Date(Date.now() + (this.defects.has('clock_fast') ? 300_000 : 0));
      response.writeHead(status, { 'content-type': 'application/json', date: time.toUTCString() }).end(body);
    }
  }

  #handle(
    route: string,
    known: (typeof ROUTES)[number] | undefined,
    params: Record<string, string>,
    incoming: Incoming,
  ): { status: number; body: string } {
    const refuse = (fault: string): { status: number; body: string } => {
      this.complaints.push(`${route}: ${fault}`);
      const answer = { requestSuccessful: false, responseMessage: 'Bad Request', responseCode: '99' };
      return { status: 400, body: JSON.stringify(answer) };
    };
    if (known === undefined) return refuse('there is no such route');
    const { contractCode, walletAccountNumber } = FAKE_CREDENTIALS;
    const fault = faultOf(route, incoming, contractCode, walletAccountNumber);
    if (fault !== null) return refuse(fault);
    const decoded = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
    const index = this.#refusals.findIndex((one) => one.route === route);
    const [refusal] = index < 0 ? [] : this.#refusals.splice(index, 1);
    if (refusal === undefined || refusal.acts) {
      const answer = respond(this, known, decoded, incoming);
      if (refusal === undefined || (refusal.saysExists && answer.status >= 400)) return answer;
    }
    return { status: refusal.status, body: refusal.body };
  }
}
