// A fake of Nomba: a real HTTP server on this machine, with its own books. It refuses what Nomba refuses, notes
// what the adapter must never send, and misbehaves on request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BANKS as LICENSED } from '../monnify/destinations.ts';
import { answerWith, type Fault, REFUSALS } from '../monnify/faults.ts';
import { faultyPage, faultyRow, noFaults } from '../monnify/lists.ts';
import { type SignedEvent, signedEvent } from './events.ts';
import { FAKE_CREDENTIALS } from './fakeCredentials.ts';
import { type Account, kobo, naira, type Row, rowView, sendView, viewOf } from './views.ts';

const TOKEN_LIFE_MS = 1_800_000;
const UNKNOWN_ACCOUNT = '8000000006';
/** No bank issues this number. */
const NO_ACCOUNT = '0000000000';
const BANKS = [...LICENSED.map(({ code, name }) => ({ code, name })), { code: '090645', name: 'Nombank MFB' }];

interface Call {
  route: string;
  params: string[];
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  text: string;
}

type Answer = { status: number; body: string };

const ok = (data: unknown): Answer => ({
  status: 200,
  body: JSON.stringify({ code: '00', description: 'Success', data }),
});
const no = (status: number, code: string, description: string): Answer => ({
  status,
  body: JSON.stringify({ code, description, data: null }),
});
const isOk = ({ body }: Answer): boolean => (JSON.parse(body) as { code: string }).code === '00';
/** Method and path of each route; each `*` is a parameter. */
const ROUTES = [
  'POST /v1/auth/token/issue',
  'POST /v1/accounts/virtual',
  'GET /v1/accounts/virtual/*',
  'DELETE /v1/accounts/virtual/*',
  'GET /v1/accounts/balance',
  'GET /v1/transfers/banks',
  'POST /v1/transfers/bank/lookup',
  'POST /v2/transfers/bank',
  'POST /v1/transactions/accounts',
  'GET /v1/transactions/requery/*',
].map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll('*', '([A-Za-z0-9%._-]+)')}$`),
}));

export class NombaFake {
  readonly now: () => Date;
  readonly complaints: string[] = [];
  readonly events: SignedEvent[] = [];
  /** `method route` of every request so far. */
  readonly requests: string[] = [];
  readonly accounts = new Map<string, Account>();
  readonly rows: Row[] = [];
  readonly lists = noFaults();
  balance: bigint;
  logins = 0;
  baseUrl = '';
  /** Where callbacks are sent; null: nowhere. They are kept in `events` either way. */
  callbackUrl: string | null = null;
  /** Whether queries find no transfer, or none that is younger than this. */
  hidden = false;
  hiddenForMs = 0;
  readonly #tokens = new Map<string, number>();
  readonly #faults: { route: string; fault: Fault; acts: boolean; times: number }[] = [];
  readonly #refusals: { route: string; answer: Answer; times: number; acts: boolean; saysExists: boolean }[] = [];
  /** The HTTP status of "Token expired": the documentation has the code 02 for it, and HTTP 401. */
  expiredStatus = 401;
  readonly #server: Server;
  #count = 0;

  constructor(now: () => Date = () => new Date(), balance = 1_000_000_000n) {
    this.now = now;
    this.balance = balance;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.baseUrl = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get credentials() {
    return { ...FAKE_CREDENTIALS, baseUrl: this.baseUrl };
  }

  /** The next responses of a route go wrong. `acts`: the request has its effect all the same. */
  break(route: string, fault: Fault, acts: boolean, times = 1): void {
    if (!ROUTES.some((known) => known.route === route)) throw new Error(`the fake has no route ${route}`);
    this.#faults.push({ route, fault, acts: acts && !REFUSALS.has(fault), times });
  }

  /**
   * The next requests of a route are refused in these words. `acts`: they have their effect all the same; that a
   * reference exists is then said only where it does.
   */
  refuse(
    route: string,
    [status, code, description]: readonly [number, string, string],
    { times = 1, acts = false }: { times?: number; acts?: boolean } = {},
  ): void {
    if (!ROUTES.some((known) => known.route === route)) throw new Error(`the fake has no route ${route}`);
    const saysExists = description.startsWith('Duplicate');
    this.#refusals.push({ route, answer: no(status, code, description), times, acts, saysExists });
  }

  /** The requests of a route are answered again. */
  mend(route: string): void {
    for (const one of [...this.#refusals, ...this.#faults]) if (one.route === route) one.times = 0;
  }

  /** Ends every token, so that the next request is refused. */
  expireTokens(): void {
    this.#tokens.clear();
  }

  transferOf(reference: string): Row | undefined {
    return this.rows.find(({ merchantTxRef }) => merchantTxRef === reference);
  }

  /** A customer pays into an account number. Null: the money was sent back. */
  pay(accountNumber: string, amount: bigint): string | null {
    const account = [...this.accounts.values()].find((one) => one.number === accountNumber);
    const lagos = new Date(this.now().getTime() + 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
    if (account === undefined || account.expired || account.expiry <= lagos) return null;
    const row = this.#add('vact_transfer', amount, accountNumber, null, 'SUCCESS');
    row.ref = account.ref;
    this.balance += amount - kobo(row.charge);
    this.#notify('payment_success', row);
    return row.sessionId;
  }

  /** A credit is taken back, and its charge is given back. */
  recall(sessionId: string): void {
    const row = this.rows.find((one) => one.sessionId === sessionId && one.type === 'vact_transfer');
    if (row?.status !== 'SUCCESS') return;
    row.status = 'REFUND';
    this.balance -= kobo(row.amount) - kobo(row.charge);
    this.#notify('payment_reversal', row);
  }

  /** Money leaves by an account number, as of a wallet's own virtual account. */
  payOut(accountNumber: string, amount: bigint): string {
    const row = this.#add('vact_transfer', amount, accountNumber, null, 'SUCCESS');
    row.entry = 'DEBIT';
    this.balance -= amount;
    return row.sessionId;
  }

  /** The end of a transfer at the receiving bank. */
  end(reference: string, status: 'SUCCESS' | 'REFUND'): void {
    const row = this.transferOf(reference);
    if (row === undefined) throw new Error(`the fake has no transfer ${reference}`);
    if (status === 'SUCCESS') row.timesPaid += 1;
    else this.balance += kobo(row.amount) + kobo(row.charge);
    row.status = status;
    this.#notify(status === 'SUCCESS' ? 'payout_success' : 'payout_refund', row);
    if (status === 'SUCCESS') this.pay(row.recipient, kobo(row.amount)); // to an account number of its own
  }

  #add(type: Row['type'], amount: bigint, recipient: string, merchantTxRef: string | null, status: string): Row {
    this.#count += 1;
    const count = String(this.#count).padStart(12, '0');
    const row: Row = {
      id: `API-${type === 'transfer' ? 'TRANSFER' : 'VACT_TRA'}-AE5CF-${count}`,
      type,
      status,
      amount: naira(amount),
      charge: type === 'transfer' ? '20.00' : '0.01',
      at: this.now(),
      merchantTxRef,
      sessionId: `10000426112210300${type === 'transfer' ? 1 : 0}${count}`,
      recipient,
      ref: '',
      timesPaid: 0,
      body: '',
    };
    this.rows.push(row);
    return row;
  }

  #notify(event: string, row: Row): void {
    const signed = signedEvent(event, row, this.now(), this.events.length);
    this.events.push(signed);
    if (this.callbackUrl === null) return;
    // A response that is not a success is repeated by Nomba; here, the list of credits makes up for it.
    const { headers, body } = signed;
    fetch(this.callbackUrl, { method: 'POST', headers, body: new Uint8Array(body) }).catch(() => {});
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
    const line = `${message.method} ${url.pathname}`;
    const found = ROUTES.map(({ route, pattern }) => ({ route, match: pattern.exec(line) })).find(
      ({ match }) => match !== null,
    );
    const route = found?.route ?? line;
    const params = [...(found?.match ?? [])].slice(1).map(decodeURIComponent);
    const text = Buffer.concat(chunks).toString('utf8');
    const call: Call = { route, params, query: url.searchParams, headers: message.headers, text };
    this.requests.push(route);
    const planned = this.#faults.find((one) => one.route === route && one.times > 0);
    if (planned !== undefined) planned.times -= 1;
    const answer = planned === undefined || planned.acts ? this.#answer(call) : ok(null);
    if (planned !== undefined) answerWith(planned.fault, response, answer.body, String(message.headers.authorization));
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  }

  #answer(call: Call): Answer {
    const { route, headers, text } = call;
    const refuse = (fault: string): Answer => {
      this.complaints.push(`${route}: ${fault}`);
      return no(400, '02', fault);
    };
    if (!ROUTES.some((known) => known.route === route)) return refuse('there is no such route');
    if (headers.accountid !== FAKE_CREDENTIALS.accountId) return refuse('the header accountId is wrong');
    if ((text === '') !== /^(GET|DELETE)/.test(route)) return refuse('the request has a body, or lacks one');
    if (text !== '' && headers['content-type'] !== 'application/json') return refuse('the content type is wrong');
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, string>;
    if (route === 'POST /v1/auth/token/issue') return this.#login(body);
    const token = String(headers.authorization).replace(/^Bearer /, '');
    if ((this.#tokens.get(token) ?? 0) <= this.now().getTime()) return no(this.expiredStatus, '02', 'Token expired');
    const planned = this.#refusals.find((one) => one.route === route && one.times > 0);
    if (planned !== undefined) {
      planned.times -= 1;
      const answer = planned.acts ? this.#act(call, body, refuse) : planned.answer;
      return planned.saysExists && !isOk(answer) ? answer : planned.answer;
    }
    return this.#act(call, body, refuse);
  }

  #login(body: Record<string, string>): Answer {
    const { clientId, clientSecret } = FAKE_CREDENTIALS;
    if (body.client_id !== clientId || body.client_secret !== clientSecret) return no(401, '01', 'Invalid credentials');
    this.logins += 1;
    const access_token = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.nomba${this.logins}`;
    const expiresAt = new Date(this.now().getTime() + TOKEN_LIFE_MS);
    this.#tokens.set(access_token, expiresAt.getTime());
    return ok({ access_token, refresh_token: 'refresh', expiresAt: expiresAt.toISOString() });
  }

  #act(
    { route, params, query, headers, text }: Call,
    body: Record<string, string>,
    refuse: (fault: string) => Answer,
  ): Answer {
    const lacks = (fields: Record<string, RegExp>): string | undefined =>
      Object.keys(fields).find((name) => typeof body[name] !== 'string' || !fields[name]?.test(body[name])) ??
      Object.keys(body).find((name) => fields[name] === undefined && name !== 'amount');
    switch (route) {
      case 'POST /v1/accounts/virtual': {
        const wrong = lacks({
          accountRef: /^[A-Za-z0-9_-]{16,64}$/,
          accountName: /^[A-Za-z0-9 .,/-]{8,64}$/,
          currency: /^NGN$/,
          expiryDate: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
        });
        if (wrong !== undefined) return refuse(`${wrong} is wrong`);
        const { accountRef: ref = '', accountName: name = '', expiryDate: expiry = '' } = body;
        if (this.accounts.has(ref)) return no(400, '02', 'Account reference already exists');
        const account = {
          ref,
          name,
          number: `93${String(this.accounts.size + 1).padStart(8, '0')}`,
          expiry,
          expired: false,
        };
        this.accounts.set(ref, account);
        return ok(viewOf(account));
      }
      case 'GET /v1/accounts/virtual/*':
      case 'DELETE /v1/accounts/virtual/*': {
        const account = this.accounts.get(params[0] ?? '');
        if (account === undefined) return no(404, '02', 'Account not found');
        if (route.startsWith('GET')) return ok(viewOf(account));
        if (account.expired) return no(400, '02', 'The account has expired');
        account.expired = true;
        return ok({ expired: true });
      }
      case 'GET /v1/accounts/balance':
        return ok({ amount: naira(this.balance), currency: 'NGN', timeCreated: this.now().toISOString() });
      case 'GET /v1/transfers/banks':
        return ok(BANKS);
      case 'POST /v1/transfers/bank/lookup': {
        const wrong = lacks({ accountNumber: /^[0-9]{10}$/, bankCode: /^[0-9]{3,6}$/ });
        if (wrong !== undefined) return refuse(`${wrong} is wrong`);
        const { accountNumber = '' } = body;
        const isNobody = accountNumber === UNKNOWN_ACCOUNT || accountNumber === NO_ACCOUNT;
        if (isNobody || !BANKS.some(({ code }) => code === body.bankCode)) return no(404, '02', 'Account not found');
        return ok({ accountNumber, accountName: `ADA ${accountNumber.slice(-4)} OBI` });
      }
      case 'POST /v2/transfers/bank':
        return this.#send(body, text, String(headers['x-idempotent-key']), lacks, refuse);
      case 'GET /v1/transactions/requery/*': {
        const row = this.rows.find(({ sessionId }) => sessionId === params[0]);
        return row === undefined ? no(404, '02', 'Transaction not found') : ok(rowView(row));
      }
      default:
        return this.#list(query, body, refuse);
    }
  }

  #send(
    body: Record<string, string>,
    text: string,
    key: string,
    lacks: (fields: Record<string, RegExp>) => string | undefined,
    refuse: (fault: string) => Answer,
  ): Answer {
    const wrong = lacks({
      accountNumber: /^[0-9]{10}$/,
      accountName: /^[\p{L}\p{N} .,/'-]{1,100}$/u, // that of an account number of its own has a slash
      bankCode: /^[0-9]{3,6}$/,
      merchantTxRef: /^[A-Za-z0-9_-]{1,64}$/,
      senderName: /^[A-Za-z0-9 .,/-]{1,50}$/,
      narration: /^[A-Za-z0-9 .,/-]{1,100}$/,
    });
    const [, amount] = /"amount":([0-9]+\.[0-9]{2})[,}]/.exec(text) ?? [];
    const { merchantTxRef: reference = '', accountNumber = '' } = body;
    if (wrong !== undefined || amount === undefined) return refuse(`${wrong ?? 'amount'} is wrong`);
    if (key !== reference) return refuse('the idempotency key is not the reference');
    const known = this.transferOf(reference);
    if (known !== undefined) {
      // A replay of the first response; another body is an error.
      return known.body === text
        ? ok(sendView(known, 'PENDING_BILLING'))
        : no(400, '06', 'The idempotency key was used');
    }
    if (kobo(amount) + 2_000n > this.balance) return no(400, '05', 'INSUFFICIENT_BALANCE');
    const row = this.#add('transfer', kobo(amount), accountNumber, reference, 'PENDING_BILLING');
    row.body = text;
    this.balance -= kobo(row.amount) + kobo(row.charge);
    return ok(sendView(row, row.status));
  }

  #isHidden({ at }: Row): boolean {
    return this.hidden || this.now().getTime() - at.getTime() < this.hiddenForMs;
  }

  #list(query: URLSearchParams, { merchantTxRef }: Record<string, string>, refuse: (fault: string) => Answer): Answer {
    const [from, to] = ['dateFrom', 'dateTo'].map((name) => query.get(name));
    const rows = this.rows
      .filter((row) => merchantTxRef === undefined || (row.merchantTxRef === merchantTxRef && !this.#isHidden(row)))
      .filter(({ at }) => from === null || from === undefined || at.getTime() >= Date.parse(`${from}Z`))
      .filter(({ at }) => to === null || to === undefined || at.getTime() <= Date.parse(`${to}Z`))
      .toReversed();
    const limit = Number(query.get('limit'));
    if (!(limit >= 1 && limit <= 50)) return refuse('limit must be 1 to 50');
    const start = Number(query.get('cursor') ?? 0);
    const { page, hasMore } = faultyPage(this.lists, rows, start, limit);
    const end = this.lists.loops ? limit : start + limit;
    return ok({
      results: page.map((row) => faultyRow(this.lists, row.id, rowView(row))),
      cursor: hasMore ? String(end) : '',
    });
  }
}
