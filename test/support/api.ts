// A running API for a test file: HTTP on free ports, its own database, and an organisation with settlement wallets and
// API keys. The clients check every response against the envelope of contract section 2.2 and the OpenAPI document.
import { randomBytes, randomUUID } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { type Dispatcher, request } from 'undici';
import { KYC } from '../../dev/chaos/requests.ts';
import { freePort, retryWhenTaken } from '../../dev/freePort.ts';
import type { ApiDependencies } from '../../src/api/dependencies.ts';
import { CATALOG, type ErrorCode, typeOf } from '../../src/api/errors.ts';
import { startApi } from '../../src/api/server.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import type { Environment, Kobo } from '../../src/money.ts';
import type { Rails } from '../../src/rail/rails.ts';
import { insertApiKey } from '../../src/resources/apiKeys.ts';
import { depositMovement } from '../../src/resources/inboundCredits/movements.ts';
import { type KeyScope, makeApiKey, SCOPES } from '../../src/resources/keys.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { createRuntime, type ServiceRuntime } from '../../src/runtime.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { checkDocumented, checkDocumentedFile, type DocumentedRequest } from './documented.ts';
import { newCredit } from './rows.ts';
import { createDatabase, ownerOf, testStack } from './stack.ts';
import { waitFor } from './waitFor.ts';

/** A resource of the API; tests read the fields they need. */
export interface Resource {
  id: string;
  status: string;
  [field: string]: unknown;
}

export interface ErrorBody {
  type: string;
  code: string;
  message: string;
  details: Record<string, unknown>;
}

/** A response of the API. Either the success fields or `error` are set, according to the status. */
export interface Answer {
  status: number;
  headers: Headers;
  requestId: string;
  /** The resource of a success. */
  data: Resource;
  /** The resources of a page, and the cursor of the next. */
  items: Resource[];
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
  error: ErrorBody;
  /** The raw body. */
  text: string;
}

/** An answer that may be a file. `rows` are the lines of CSV by column. */
export interface FileAnswer extends Pick<Answer, 'status' | 'headers' | 'text'> {
  rows: Record<string, string>[];
  bytes: Buffer;
}

export interface CallOptions {
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
}

/** Calls the API of one environment with one key. */
export interface Client {
  readonly key: string | null;
  readonly environment: Environment;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  get: (path: string) => Promise<Answer>;
  post: (path: string, body?: unknown) => Promise<Answer>;
  /** A list as a file, or the error instead. */
  file: (path: string, accept?: string) => Promise<FileAnswer>;
  /** A POST that moves money, with a new Idempotency-Key unless one is given. */
  money: (path: string, body: unknown, idempotencyKey?: string) => Promise<Answer>;
}

/** An organisation with a key for each environment; the keys have all scopes. */
export interface TestOrganisation {
  organisationId: Uuid;
  settlementWalletId: string;
  liveSettlementWalletId: string;
  test: Client;
  live: Client;
}

export interface TestApi {
  databaseUrl: string;
  /** Base addresses, ending in `/v1`. */
  urls: Record<Environment, string>;
  dependencies: ApiDependencies & Pick<ServiceRuntime, 'maintenanceSql'>;
  /** A connection as the database owner, to read and prepare rows. */
  sql: Sql;
  /** Every log line of the process, as JSON text. */
  logged: string[];
  organisation: TestOrganisation;
  /** The clients of the default organisation. */
  test: Client;
  live: Client;
  createOrganisation: () => Promise<TestOrganisation>;
  createKey: (
    organisationId: Uuid,
    options?: {
      environment?: Environment;
      scopes?: readonly KeyScope[];
      expiresAt?: Date;
      allowedIps?: string[];
      rateLimit?: number;
    },
  ) => Promise<{ id: Uuid; key: string }>;
  client: (key: string | null, environment?: Environment) => Client;
  /** Creates an end-user wallet with this balance, active and tier1 by default. Returns its public id. */
  createWallet: (
    client?: Client,
    options?: { tier1?: boolean; balance?: Kobo; status?: WalletStatus },
  ) => Promise<string>;
  /** Sets the status directly in the database. */
  setWalletStatus: (walletId: string, status: WalletStatus) => Promise<unknown>;
  /** Credits a wallet regardless of its limits, as an inbound credit of the rail does; default: of the sandbox bank. */
  fund: (organisationId: Uuid, walletId: string, amount: Kobo, rail?: string) => Promise<void>;
  balanceOf: (walletId: string) => Promise<Kobo>;
  /** Runs `work` with another process of the service, on the same database. */
  withAnother: (options: TestApiOptions, work: (other: TestApi) => Promise<void>) => Promise<void>;
  close: () => Promise<void>;
}

type WalletStatus = 'active' | 'frozen' | 'closed';

/** Numbers that are fixed in src/config.ts: tests have shorter times. */
type Fixed = Config['attention'] &
  Config['maintenance'] &
  Pick<Config['sandboxRail'], 'notVisibleForMs' | 'callLimitMs'> &
  Pick<Config['checkout'], 'pagesMax'> &
  Pick<Config, 'idleGraceMs'>;

/** Settings by their names, and fixed numbers by theirs. */
export type TestSettings = { [name: Uppercase<string>]: string | undefined } & Partial<Fixed>;

export interface TestApiOptions {
  /** The database of another instance; not dropped by this one. */
  databaseUrl?: string;
  /** Default: the URL of its owner on the test server. */
  ownerDatabaseUrl?: string;
  /** The database URL for the API, for example of a proxy in front of the database. */
  databaseUrlOfApi?: string;
  settings?: TestSettings;
  rails?: (rails: Rails) => Rails;
  temporalStatus?: ApiDependencies['temporalStatus'];
  /** Default: `info`. */
  logLevel?: string;
  /** Whether the clients retry a request whose error is retryable, as integrators do. */
  callersRetry?: boolean;
}

/** Enough connections for concurrency, few enough for several test files in parallel. */
const CONNECTIONS_MAX = 4;

function configOf(settings: TestSettings): Config {
  const entries = Object.entries<unknown>(settings);
  const config = readConfig(
    Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
  );
  const numbers = entries.filter(([, value]) => typeof value === 'number');
  const changed = <Part extends object>(part: Part): Part => ({
    ...part,
    ...Object.fromEntries(numbers.filter(([name]) => name in part)),
  });
  return {
    ...config,
    attention: changed(config.attention),
    maintenance: changed(config.maintenance),
    sandboxRail: changed(config.sandboxRail),
    checkout: changed(config.checkout),
    idleGraceMs: settings.idleGraceMs ?? 20, // the connections of a test's clients stay open
  };
}

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database =
    options.databaseUrl === undefined
      ? await createDatabase()
      : { url: options.databaseUrl, drop: () => Promise.resolve() };
  const logged: string[] = [];
  const log = createLog('test', options.logLevel ?? 'info', { write: (line: string) => void logged.push(line) });
  const { runtime, dependencies, running } = await retryWhenTaken(async () => {
    const port = await freePort();
    const config = configOf({
      DATABASE_URL: options.databaseUrlOfApi ?? database.url,
      DATABASE_CONNECTIONS_MAX: String(CONNECTIONS_MAX),
      TEMPORAL_ADDRESS: testStack().temporalAddress,
      TEMPORAL_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
      SANDBOX_PORT: String(port),
      LIVE_PORT: '0',
      SANDBOX_RAIL_CALLBACK_URL: `http://127.0.0.1:${port}/v1/rails/sandbox/callbacks`,
      SANDBOX_RAIL_DELAY_MS: '0',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
      RATE_LIMIT_PER_MINUTE: '1000000',
      // Enabled by the tests of schedules.
      SCHEDULES: 'off',
      ...options.settings,
    });
    const runtime = createRuntime(config, log);
    const dependencies = {
      ...runtime,
      keyring: config.keyring,
      rails: options.rails?.(runtime.rails) ?? runtime.rails,
      temporalStatus: options.temporalStatus ?? (() => Promise.resolve('ok')),
    };
    return { runtime, dependencies, running: await startApi(dependencies) };
  });
  const sql = connect(options.ownerDatabaseUrl ?? ownerOf(database.url), { connectionsMax: 2, role: 'owner' });
  // `migrate` stores it, as the owner of the database.
  const twoFrom = options.settings?.REVIEW_CREDIT_BY_TWO_FROM_KOBO;
  if (twoFrom) await sql`UPDATE decision_limits SET credit_by_two_from = ${twoFrom}`;
  if (options.settings?.DEBT_RECOVERY === 'operators') await sql`UPDATE decision_limits SET recovers_debts = false`;
  const urls = {
    test: `http://127.0.0.1:${running.ports.test}/v1`,
    live: `http://127.0.0.1:${running.ports.live}/v1`,
  };

  const client = (key: string | null, environment: Environment = 'test'): Client =>
    createClient(urls[environment], key, environment, options.callersRetry);

  const createKey: TestApi['createKey'] = async (organisationId, options = {}) => {
    const { environment = 'test', scopes = SCOPES, expiresAt = null, allowedIps = null, rateLimit = null } = options;
    const attributes = { environment, name: null, scopes: [...scopes], expiresAt, allowedIps, rateLimit };
    const { key, row } = makeApiKey(organisationId, attributes);
    await insertApiKey(sql, row, OWNER_PROOF);
    return { id: row.id, key };
  };

  const addOrganisation = async (): Promise<TestOrganisation> => {
    const created = await createOrganisation(sql, {
      name: 'Test Ltd',
      email: 'money@test.example',
      proof: OWNER_PROOF,
    });
    const { organisationId } = created;
    // Not at once, which would open a second connection in each test file.
    const test = await createKey(organisationId);
    const live = await createKey(organisationId, { environment: 'live' });
    return {
      organisationId,
      settlementWalletId: publicId('wallet', created.settlementWalletId),
      liveSettlementWalletId: publicId('wallet', created.liveSettlementWalletId),
      test: client(test.key),
      live: client(live.key, 'live'),
    };
  };

  const fund: TestApi['fund'] = async (organisationId, walletId, amount, rail = 'sandbox') => {
    const uuid = requireUuid('wallet', walletId);
    const [row] = await sql<{ environment: Environment }[]>`SELECT environment FROM wallets WHERE id = ${uuid}`;
    if (row === undefined) throw new Error(`no wallet ${walletId}`);
    const credit = newCredit({ amount, rail, ownerKind: 'wallet', ownerId: uuid, status: 'posted' });
    if (row.environment === 'test' && rail === 'sandbox') {
      await sql`
        INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, received_at)
        VALUES (${organisationId}, ${credit.sessionId}, ${credit.accountNumber}, ${amount}, ${credit.receivedAt})`;
    }
    const { transaction, ...deposit } = depositMovement({ organisationId, environment: row.environment }, credit, uuid);
    const { outcome } = await runtime.journal.post({
      ...deposit,
      ...(transaction !== undefined && { transaction: { ...transaction, rules: 'credit_exempt' as const } }),
      rows: { inbound_credits: [credit] },
      events: [],
    });
    if (outcome !== 'posted') throw new Error(`the wallet could not be funded: ${outcome}`);
  };

  const organisation = await addOrganisation();

  const setWalletStatus: TestApi['setWalletStatus'] = async (walletId, status) =>
    await sql`UPDATE ledger.accounts SET status = ${status} WHERE code = ${`wallet:${walletId}`}`;

  const createWallet: TestApi['createWallet'] = async (client = organisation.test, options = {}) => {
    const { data } = await client.post('/wallets', { email: 'ada@test.example', fullName: 'Ada Obi' });
    // Retried, because the API can return 503 or 504 on a busy machine; the details are the same each time.
    const isTier1 = async () => (await client.post(`/wallets/${data.id}/kyc`, KYC)).status === 200;
    if (options.tier1 !== false) await waitFor(`${data.id} to be tier1`, isTier1);
    if (options.balance !== undefined) {
      const uuid = requireUuid('wallet', data.id);
      const [row] = await sql<{ organisationId: Uuid }[]>`SELECT organisation_id FROM wallets WHERE id = ${uuid}`;
      await fund(row?.organisationId ?? '', data.id, options.balance);
    }
    if (options.status !== undefined) await setWalletStatus(data.id, options.status);
    return data.id;
  };

  return {
    databaseUrl: database.url,
    urls,
    dependencies,
    sql,
    logged,
    organisation,
    test: organisation.test,
    live: organisation.live,
    createOrganisation: addOrganisation,
    createKey,
    client,
    createWallet,
    setWalletStatus,
    fund,
    balanceOf: async (walletId) => {
      const [row] = await sql<{ balance: Kobo }[]>`
        SELECT balance FROM ledger.accounts WHERE code = ${walletAccount(requireUuid('wallet', walletId))}`;
      if (row === undefined) throw new Error(`no wallet ${walletId}`);
      return row.balance;
    },
    withAnother: async (another, work) => {
      const other = await startTestApi({ databaseUrl: database.url, ...another });
      try {
        await work(other);
      } finally {
        await other.close();
      }
    },
    close: async () => {
      await running.close();
      await Promise.all([runtime.close(), sql.end()]);
      await database.drop();
    },
  };
}

/**
 * Creates a client for a base URL that ends in `/v1`. On a busy machine a request may exceed its deadline; with
 * `retries` the client then sends it again with the same Idempotency-Key.
 */
export function createClient(base: string, key: string | null, environment: Environment, retries = false): Client {
  const send: Client['call'] = async (method, path, { body, headers = {}, idempotencyKey } = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    // Takes a third of the processor time of `fetch`.
    const response = await request(`${base}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return readAnswer(response.statusCode, headersOf(response), text, { method, path, environment });
  };
  const call: Client['call'] = (method, path, options) =>
    waitFor(`a response to ${method} ${path}`, async () => {
      const response = await send(method, path, options);
      return retries && isPastDeadline(response) ? null : response;
    });
  return {
    key,
    environment,
    file: async (path, accept = 'text/csv') => {
      const headers = { ...(key !== null && { authorization: `Bearer ${key}` }), accept };
      return await readFile(await fetch(`${base}${path}`, { headers }), { method: 'GET', path, environment });
    },
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, { body }),
    money: (path, body, idempotencyKey = randomUUID()) => call('POST', path, { body, idempotencyKey }),
  };
}

const headersOf = ({ headers }: Dispatcher.ResponseData): Headers =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Reads a response to a request for a file, and checks it against the document. */
async function readFile(response: Response, request: DocumentedRequest): Promise<FileAnswer> {
  const { status, headers } = response;
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return { ...readAnswer(status, headers, text, request), bytes, rows: [] };
  checkDocumentedFile(request, { status, headers, text });
  return { status, headers, text, bytes, rows: type.startsWith('text/csv') ? parse(text, { columns: true }) : [] };
}

/** Reads and checks a response to a request that no client of this file sent. */
export const readResponse = async (response: Response, request: DocumentedRequest): Promise<Answer> =>
  readAnswer(response.status, response.headers, await response.text(), request);

const isPastDeadline = ({ status, error }: Answer): boolean =>
  status === 503 && error.details.retryable === true && error.details.service === 'database';

const STATUSES = [200, 201, 202, 204, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504];

/**
 * Reads a response and checks it against the contract: one of three structures, a known status, the same request id in
 * body and header. The answer to a known request is checked against the OpenAPI document too.
 */
export function readAnswer(status: number, headers: Headers, text: string, request?: DocumentedRequest): Answer {
  const violation = (problem: string): Error => new Error(`${problem} in the response ${status} ${text}`);
  if (!STATUSES.includes(status)) throw violation('status not in the contract');
  if (!headers.get('content-type')?.startsWith('application/json')) throw violation('content type is not JSON');
  const body = JSON.parse(text) as Record<string, unknown>;
  const success = status < 400;
  const paginated = success && Array.isArray(body.data);
  const fields = success ? ['data', ...(paginated ? ['pagination'] : [])] : ['error'];
  if (Object.keys(body).toSorted().join() !== ['success', 'statusCode', 'meta', ...fields].toSorted().join()) {
    throw violation('wrong fields of the envelope');
  }
  if (body.success !== success || body.statusCode !== status)
    throw violation('success or statusCode differs from the status');
  const { requestId } = body.meta as { requestId: string };
  if (!/^req_[0-9a-f]{24}$/.test(requestId)) throw violation('no request id');
  if (headers.get('x-request-id') !== requestId) throw violation('X-Request-Id differs from the request id');
  if (headers.has('retry-after') !== (status === 429))
    throw violation('Retry-After must be present with 429, and not elsewhere');
  if (!success) {
    const error = body.error as ErrorBody;
    if (Object.keys(error).toSorted().join() !== 'code,details,message,type')
      throw violation('wrong fields of the error');
    // The message must be the catalog's, so that no internal detail can leak through it.
    const entry = Object.entries(CATALOG).find(([code]) => code === error.code)?.[1];
    if (entry?.[0] !== status || entry[1] !== error.message) throw violation('error not in the catalog');
    if (error.type !== typeOf(error.code as ErrorCode)) throw violation('error type does not match the code');
  }
  if (request !== undefined) checkDocumented(request, { status, headers, body });
  return { status, headers, requestId, text, ...body, items: body.data } as unknown as Answer;
}
