// What the Monnify fake demands of a request. A request that breaks a rule is refused as Monnify would refuse it,
// and is noted as a complaint, which fails the test: the adapter must never send such a request.
export interface Incoming {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  /** The raw text of the body. */
  text: string;
}

type Check = (value: unknown, field: string, text: string) => string | null;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const matches =
  (pattern: RegExp): Check =>
  (value, field) =>
    isText(value) && pattern.test(value) ? null : `${field} must match ${pattern}`;
const equals =
  (expected: unknown): Check =>
  (value, field) =>
    value === expected ? null : `${field} must be ${JSON.stringify(expected)}`;
/** The text of the number counts: an exponent or a third decimal is a rounded amount. */
const amount: Check = (value, field, text) =>
  typeof value === 'number' && new RegExp(`"${field}":[0-9]{1,13}\\.[0-9]{2}[,}]`).test(text)
    ? null
    : `${field} must be a number with two decimals`;
const optional =
  (check: Check): Check =>
  (value, field, text) =>
    value === undefined ? null : check(value, field, text);

/** The reference of ours: its set and length are not documented, so this is what has been seen to work. */
const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;
const PERSON = /^[\p{L}\p{N} .,'/&()-]{1,100}$/u;
const EMAIL = /^[^@\s]+@[^@\s]+\.[^@\s]+$/;
const PLAIN = /^[A-Za-z0-9 .,/-]{1,100}$/;

const BODIES: Record<string, (contractCode: string, wallet: string) => Record<string, Check>> = {
  'POST /api/v1/invoice/create': (contractCode) => ({
    amount,
    invoiceReference: matches(REFERENCE),
    description: matches(PLAIN),
    currencyCode: equals('NGN'),
    contractCode: equals(contractCode),
    customerEmail: matches(EMAIL),
    customerName: matches(PERSON),
    expiryDate: matches(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    paymentMethods: (value, field) =>
      JSON.stringify(value) === '["ACCOUNT_TRANSFER"]' ? null : `${field} must be ["ACCOUNT_TRANSFER"]`,
  }),
  'POST /api/v2/bank-transfer/reserved-accounts': (contractCode) => ({
    accountReference: matches(REFERENCE),
    accountName: matches(PERSON),
    currencyCode: equals('NGN'),
    contractCode: equals(contractCode),
    customerEmail: matches(EMAIL),
    customerName: matches(PERSON),
    bvn: optional(matches(/^[0-9]{11}$/)),
    nin: optional(matches(/^[0-9]{11}$/)),
    getAllAvailableBanks: equals(false),
    preferredBanks: (value, field) =>
      Array.isArray(value) && value.length === 1 && isText(value[0]) ? null : `${field} must have one bank`,
  }),
  'POST /api/v2/disbursements/single': (_, wallet) => ({
    amount,
    reference: matches(REFERENCE),
    narration: matches(PLAIN),
    destinationBankCode: matches(/^[0-9]{3,6}$/),
    destinationAccountNumber: matches(/^[0-9]{10}$/),
    destinationAccountName: matches(PERSON),
    currency: equals('NGN'),
    sourceAccountNumber: equals(wallet),
    async: equals(true),
  }),
};

const whole = /^[0-9]{1,15}$/;
/** The parameters of each query: all of them are required. */
const QUERIES: Record<string, Record<string, RegExp>> = {
  'GET /api/v1/disbursements/account/validate': { accountNumber: /^[0-9]{10}$/, bankCode: /^[0-9]{3,6}$/ },
  'GET /api/v2/disbursements/single/summary': { reference: REFERENCE },
  'GET /api/v2/disbursements/wallet-balance': { accountNumber: /^[0-9]{10}$/ },
  'GET /api/v1/transactions/search': {
    page: whole,
    size: /^([1-9]|[1-9][0-9]|100)$/,
    from: whole,
    to: whole,
  },
  'GET /api/v1/disbursements/wallet/{accountNumber}/statement': {
    startDate: whole,
    endDate: whole,
    enableTimeFilter: /^true$/,
    pageNo: whole,
    pageSize: /^([1-9]|[1-9][0-9]|100)$/,
  },
};

/** What is wrong with a request, in words; null: nothing. */
export function faultOf(route: string, request: Incoming, contractCode: string, wallet: string): string | null {
  const fields = BODIES[route]?.(contractCode, wallet);
  const parameters = QUERIES[route] ?? {};
  const given = [...request.query.keys()];
  const strange = given.find((name) => parameters[name] === undefined);
  if (strange !== undefined) return `the query has ${strange}`;
  const wrong = Object.entries(parameters).find(([name, pattern]) => {
    const values = request.query.getAll(name);
    return values.length !== 1 || !pattern.test(values[0] ?? '');
  });
  if (wrong !== undefined) return `the query needs one ${wrong[0]} that matches ${wrong[1]}`;
  if (fields === undefined) return request.text === '' ? null : 'the request has a body';
  if (request.headers['content-type'] !== 'application/json') return 'the content type is not application/json';
  return faultOfBody(fields, request.text);
}

function faultOfBody(fields: Record<string, Check>, text: string): string | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'the body is not JSON';
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'the body is not an object';
  const strange = Object.keys(body).find((name) => fields[name] === undefined);
  if (strange !== undefined) return `the body has ${strange}`;
  for (const [field, check] of Object.entries(fields)) {
    const fault = check((body as Record<string, unknown>)[field], field, text);
    if (fault !== null) return fault;
  }
  return null;
}
