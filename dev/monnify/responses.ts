// The responses of the Monnify fake to requests that break no rule.
import {
  type FakeTransfer,
  type Invoice,
  type MonnifyBook,
  naira,
  nairaText,
  type ReservedAccount,
  transferFee,
} from './book.ts';
import type { Defect } from './defects.ts';
import { BANKS, holderOf } from './destinations.ts';
import { FAKE_CREDENTIALS } from './fakeCredentials.ts';
import { faultyPage, faultyRow, type ListFaults } from './lists.ts';
import type { Plans } from './plans.ts';
import type { Incoming } from './rules.ts';
import { entryView, invoiceView, reservedView, rowView, sendView, summaryView, transactionView } from './views.ts';

/** What the handlers need of the server. */
export interface FakeState {
  book: MonnifyBook;
  plans: Plans;
  now: () => Date;
  /** `yyyy-MM-dd HH:mm:ss.SSS`. */
  lagosNow: () => string;
  newToken: () => string;
  isTokenGood: (token: string) => boolean;
  otp: boolean;
  listed: boolean;
  guardFirst: boolean;
  lists: ListFaults;
  guarded: number;
  hiddenFor: number;
  defects: ReadonlySet<Defect>;
  enquiries: number;
}

interface Answer {
  status: number;
  body: string;
}
type Params = Record<string, string>;
type Body = Record<string, string> & { bvn?: string };
type Handler = (
  fake: FakeState,
  request: { params: Params; query: URLSearchParams; body: Body; text: string },
) => Answer;

const ok = (responseBody: unknown): Answer => ({
  status: 200,
  body: JSON.stringify({ requestSuccessful: true, responseMessage: 'success', responseCode: '0', responseBody }),
});
const no = (responseCode: string | number, responseMessage: string, status = 400): Answer => ({
  status,
  body: JSON.stringify({ requestSuccessful: false, responseMessage, responseCode }),
});
function page<Row>({ lists }: FakeState, rows: readonly Row[], number: number, size: number): object {
  const { page: content, hasMore } = faultyPage(lists, rows, number * size, size);
  return {
    content,
    totalElements: rows.length,
    totalPages: Math.ceil(rows.length / size),
    number,
    size,
    first: number === 0,
    last: !hasMore,
  };
}

/** The amount of a body in kobo, from its text: the rules have checked its form. */
const kobo = (text: string): bigint => {
  const [, whole = '0', part = '00'] = /"amount":([0-9]+)\.([0-9]{2})/.exec(text) ?? [];
  return BigInt(whole + part);
};

const number = (query: URLSearchParams, name: string): number => Number(query.get(name));

const login: Handler = (fake) => ok({ accessToken: fake.newToken(), expiresIn: 3600 });

const anHourLater = (time: string): string =>
  new Date(Date.parse(`${time.replace(' ', 'T')}Z`) + 3_600_000).toISOString().slice(0, 19).replace('T', ' ');

const createInvoice: Handler = (fake, { body, text }) => {
  const amount = kobo(text);
  if (fake.book.invoices.has(body.invoiceReference ?? '') && !fake.defects.has('forgets_references'))
    return no('99', 'Invoice with this reference already exists.');
  if (amount <= 2_000n) return no('99', 'Amount must be greater than 20.');
  if (`${body.expiryDate}.000` <= fake.lagosNow()) return no('99', 'Invalid invoice expiry date.');
  const invoice: Invoice = {
    reference: body.invoiceReference ?? '',
    amount,
    description: body.description ?? '',
    expiryDate: fake.defects.has('utc_expiry') ? anHourLater(body.expiryDate ?? '') : (body.expiryDate ?? ''),
    status: 'PENDING',
    accountNumber: fake.book.newAccountNumber(),
    transactionReference: fake.book.newReference('MNFY'),
    createdAt: fake.now(),
    customerName: body.customerName ?? '',
    customerEmail: body.customerEmail ?? '',
  };
  fake.book.invoices.set(invoice.reference, invoice);
  return ok(invoiceView(invoice));
};

const readInvoice: Handler = (fake, { params }) => {
  const invoice = fake.book.invoices.get(params.reference ?? '');
  return invoice === undefined
    ? no('99', 'Could not find transaction with the specified reference')
    : ok(invoiceView(invoice));
};

const cancelInvoice: Handler = (fake, { params }) => {
  const invoice = fake.book.invoices.get(params.reference ?? '');
  if (invoice === undefined) return no('99', 'Could not find transaction with the specified reference');
  if (invoice.status !== 'PENDING') return no('99', 'The invoice cannot be cancelled');
  invoice.status = 'CANCELLED';
  return ok(invoiceView(invoice));
};

const reserveAccount: Handler = (fake, { body }) => {
  const reference = body.accountReference ?? '';
  if (fake.book.reserved.has(reference) && !fake.defects.has('forgets_references'))
    return no('99', 'You can not reserve two accounts with the same reference.');
  if (body.bvn === '00000000000') return no('99', 'Invalid BVN provided');
  if (body.bvn === undefined && body.nin === undefined) return no('99', 'BVN is invalid. Must be 11 digits');
  const account: ReservedAccount = {
    reference,
    accountName: body.accountName ?? '',
    accountNumber: fake.book.newAccountNumber(),
    status: 'ACTIVE',
    createdAt: fake.now(),
  };
  fake.book.reserved.set(reference, account);
  return ok(reservedView(account));
};

const readReserved: Handler = (fake, { params }) => {
  const account = fake.book.reserved.get(params.reference ?? '');
  return account === undefined ? no('99', 'Cannot find reserved account', 404) : ok(reservedView(account));
};

const removeReserved: Handler = (fake, { params }) => {
  const account = fake.book.reserved.get(params.reference ?? '');
  if (account === undefined || account.status !== 'ACTIVE') return no('99', 'Cannot find reserved account', 404);
  account.status = 'DEACTIVATED';
  return ok(reservedView(account));
};

const validate: Handler = (fake, { query }) => {
  fake.enquiries += 1;
  if (fake.enquiries > 10 && fake.defects.has('rate_limit')) return no('99', 'Too many requests', 429);
  if (fake.enquiries > 10 && fake.defects.has('overload')) return { status: 502, body: '<html>Bad Gateway</html>' };
  const accountNumber = query.get('accountNumber') ?? '';
  const bankCode = query.get('bankCode') ?? '';
  const everyAccount = fake.defects.has('every_account_exists');
  const accountName = everyAccount ? 'ADA OBI' : holderOf(accountNumber);
  const isKnown = everyAccount || BANKS.some(({ code }) => code === bankCode);
  if (!isKnown && fake.defects.has('refuses_banks')) return no(99, 'Bank code is invalid');
  if (accountName === null || !isKnown) return no(99, 'Invalid account details supplied');
  return ok({ accountNumber, accountName, bankCode, currencyCode: 'NGN' });
};

function guard(fake: FakeState): Answer {
  fake.guarded += 1;
  return no('D07', 'Duplicate request', 422);
}

const send: Handler = (fake, { body, text }) => {
  const reference = body.reference ?? '';
  const accountNumber = body.destinationAccountNumber ?? '';
  const amount = kobo(text);
  const known = fake.book.transfers.get(reference);
  const isGuarded = fake.book.isTwin(accountNumber, amount) && !fake.defects.has('no_guard');
  if (isGuarded && fake.guardFirst) return guard(fake);
  if (known !== undefined) {
    known.timesSent += 1;
    if (fake.defects.has('pays_again')) fake.book.enter(known);
    return no('D05', 'Supplied reference already exists!', 422);
  }
  if (!fake.listed) return no('D06', 'Unauthorized request', 403);
  if (isGuarded) return fake.defects.has('refuses_twins') ? no('D01', 'Invalid request', 422) : guard(fake);
  if (fake.defects.has('short_narrations') && (body.narration ?? '').length > 30)
    return no('D01', 'Invalid narration', 422);
  const holder = holderOf(accountNumber);
  if (holder === null) return no('D03', 'Invalid account details supplied', 422);
  const fee = transferFee(amount);
  if (amount + fee > fake.book.available) return no('D04', 'Insufficient wallet balance', 422);
  const isNameRight = holder === body.destinationAccountName;
  const wrongName = [{ status: 'PENDING' }, { status: 'FAILED', comment: 'Beneficiary account name mismatch' }];
  const steps = isNameRight ? fake.plans.stepsTo(accountNumber) : wrongName;
  const transfer: FakeTransfer = {
    reference,
    transactionReference: fake.book.newReference('MFDS'),
    amount: fake.defects.has('rounds') ? (amount / 100n) * 100n : amount,
    fee,
    narration: (body.narration ?? '').slice(0, 100),
    accountNumber,
    accountName: body.destinationAccountName ?? '',
    bankCode: body.destinationBankCode ?? '',
    createdAt: fake.now(),
    steps: fake.otp ? [{ status: 'PENDING_AUTHORIZATION' }, { status: 'EXPIRED' }] : steps,
    twoFaEnabled: fake.otp || steps[0]?.status === 'PENDING_AUTHORIZATION',
    timesSent: 1,
    timesPaid: 0,
    timesReturned: 0,
    hiddenFor: fake.hiddenFor,
  };
  fake.book.transfers.set(reference, transfer);
  fake.book.enter(transfer);
  return ok(sendView(transfer));
};

const summary: Handler = (fake, { query }) => {
  const transfer = fake.book.transfers.get(query.get('reference') ?? '');
  const isHidden = transfer !== undefined && transfer.hiddenFor > 0;
  if (isHidden) transfer.hiddenFor -= 1;
  const [other] = fake.book.transfers.values();
  if (transfer === undefined && other !== undefined && fake.defects.has('invents_transfers'))
    return ok(summaryView({ ...other, reference: query.get('reference') ?? '' }));
  if (transfer === undefined || isHidden)
    return no('D02', 'Could not find disbursement transaction for given reference', 404);
  const view = summaryView(transfer);
  return ok(fake.defects.has('no_charges') ? { ...view, fee: undefined } : view);
};

const walletBalance: Handler = (fake) =>
  ok({ availableBalance: nairaText(fake.book.available), ledgerBalance: naira(fake.book.balance) });

const readTransaction: Handler = (fake, { params }) => {
  const collection = fake.book.collections.get(params.reference ?? '');
  const more = fake.defects.has('other_amount') ? 100n : 0n;
  if (collection !== undefined) return ok(transactionView({ ...collection, amount: collection.amount + more }));
  return no(
    '99',
    "There's no transaction matching supplied reference. Please confirm supplied reference and try again.",
    404,
  );
};

/** Without the envelope, newest first, and bounded by when a transaction was created. */
const search: Handler = (fake, { query }) => {
  const rows = [...fake.book.collections.values()]
    .filter(({ createdAt }) => {
      const time = createdAt.getTime();
      return time >= number(query, 'from') && time < number(query, 'to');
    })
    .toReversed()
    .map((one) => faultyRow(fake.lists, one.transactionReference, rowView(one)));
  return { status: 200, body: JSON.stringify(page(fake, rows, number(query, 'page'), number(query, 'size'))) };
};

/** The time filter of the statement counts whole hours. */
const hourOf = (query: URLSearchParams, name: string): number =>
  Math.floor(number(query, name) / 3_600_000) * 3_600_000;

const walletStatement: Handler = (fake, { params, query }) => {
  if (params.accountNumber !== FAKE_CREDENTIALS.walletAccountNumber)
    return no('99', 'Supplied account number does not belong to merchant');
  const entries = fake.defects.has('empty_statement') ? [] : fake.book.wallet;
  const rows = entries
    .flatMap((entry) =>
      fake.defects.has('statement_twice') ? [entry, { ...entry, reference: `${entry.reference}B` }] : [entry],
    )
    .filter(({ at }) => at.getTime() >= hourOf(query, 'startDate') && at.getTime() < hourOf(query, 'endDate'))
    .toReversed()
    .map((entry) => faultyRow(fake.lists, entry.reference, entryView(entry)));
  return ok(page(fake, rows, number(query, 'pageNo'), number(query, 'pageSize')));
};

function banksOf({ defects }: FakeState): typeof BANKS {
  if (defects.has('few_banks')) return BANKS.slice(0, 3);
  return defects.has('nip_code_twice')
    ? [...BANKS, { name: 'Other bank', code: '00999', nipBankCode: '000014' }]
    : BANKS;
}

const HANDLERS: Record<string, Handler> = {
  'POST /api/v1/auth/login': login,
  'POST /api/v1/invoice/create': createInvoice,
  'GET /api/v1/invoice/{reference}/details': readInvoice,
  'DELETE /api/v1/invoice/{reference}/cancel': cancelInvoice,
  'POST /api/v2/bank-transfer/reserved-accounts': reserveAccount,
  'GET /api/v2/bank-transfer/reserved-accounts/{reference}': readReserved,
  'DELETE /api/v1/bank-transfer/reserved-accounts/reference/{reference}': removeReserved,
  'GET /api/v1/banks': (fake) => ok(banksOf(fake)),
  'GET /api/v1/disbursements/account/validate': validate,
  'POST /api/v2/disbursements/single': send,
  'GET /api/v2/disbursements/single/summary': summary,
  'GET /api/v2/disbursements/wallet-balance': walletBalance,
  'GET /api/v2/transactions/{reference}': readTransaction,
  'GET /api/v1/transactions/search': search,
  'GET /api/v1/disbursements/wallet/{accountNumber}/statement': walletStatement,
};

/** Every route, with its pattern. A path segment with a raw `|` is not found: it must be encoded. */
export const ROUTES = Object.keys(HANDLERS).map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[A-Za-z0-9%._-]+)')}$`),
}));

export function respond(
  fake: FakeState,
  { route }: (typeof ROUTES)[number],
  params: Params,
  { headers, query, text }: Incoming,
): Answer {
  const { apiKey, secretKey } = FAKE_CREDENTIALS;
  const authorization = String(headers.authorization ?? '');
  if (route === 'POST /api/v1/auth/login') {
    const basic = `Basic ${Buffer.from(`${apiKey}:${secretKey}`).toString('base64')}`;
    const isRight = authorization === basic || fake.defects.has('any_secret');
    const status = fake.defects.has('secret_500') ? 500 : fake.defects.has('secret_403') ? 403 : 401;
    if (!isRight) return no('99', 'bad credentials', status);
  } else if (!fake.isTokenGood(authorization.replace(/^Bearer /, ''))) {
    return { status: 401, body: '{"error":"invalid_token","error_description":"Access token expired"}' };
  }
  const handler = HANDLERS[route];
  if (handler === undefined) throw new Error(`no handler of ${route}`);
  return handler(fake, { params, query, body: text === '' ? {} : (JSON.parse(text) as Body), text });
}
