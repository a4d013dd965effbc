// A running API for a test file: real HTTP on free ports, over a database of its own, with an organisation, its
// settlement wallets and keys. Every answer that its callers get is checked against the envelope of contract section 2.2.
import { randomBytes, randomUUID } from 'node:crypto';
import { freePort, retryWhenTaken } from '../../dev/freePort.ts';
import { hashApiKey, newApiKey } from '../../src/api/admission/apiKeys.ts';
import type { ApiDependencies } from '../../src/api/dependencies.ts';
import { CATALOG, type ErrorCode, typeOf } from '../../src/api/errors.ts';
import { SCOPES, type Scope } from '../../src/api/route.ts';
import { startApi } from '../../src/api/server.ts';
import { readConfig } from '../../src/config.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { clearingAccount, walletAccount } from '../../src/ledger/chart.ts';
import type { Environment, Kobo } from '../../src/money.ts';
import type { Rails } from '../../src/rail/rails.ts';
import { insertApiKey } from '../../src/resources/apiKeys.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { createRuntime, type ServiceRuntime } from '../../src/runtime.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createDatabase, testStack } from './stack.ts';
import { waitFor } from './waitFor.ts';

/** Whatever a view holds; tests compare the fields they are about. */
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

/** An answer of the API. Only the part that fits the status is there; reading the other one fails the test. */
export interface Answer {
  status: number;
  headers: Headers;
  requestId: string;
  /** The resource of a success. */
  data: Resource;
  /** The resources of a page, and where the next one starts. */
  items: Resource[];
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
  error: ErrorBody;
  /** The body as it was sent. */
  text: string;
}

export interface CallOptions {
  /** Sent as JSON; a string or bytes go out as they are. */
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string;
}

/** Calls the API with one key on one host. */
export interface Client {
  readonly key: string | null;
  readonly environment: Environment;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  get: (path: string) => Promise<Answer>;
  post: (path: string, body?: unknown) => Promise<Answer>;
  /** A POST that moves money, under a fresh Idempotency-Key unless one is given. */
  money: (path: string, body: unknown, idempotencyKey?: string) => Promise<Answer>;
}

/** An organisation with a key for each environment that holds every scope. */
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
  services: ApiDependencies & Pick<ServiceRuntime, 'maintenanceSql'>;
  /** The database owner's connection, for looking at rows and preparing them. */
  sql: Sql;
  /** Every line that the process logged, as JSON text. */
  logged: string[];
  organisation: TestOrganisation;
  /** The default organisation's callers. */
  test: Client;
  live: Client;
  createOrganisation: () => Promise<TestOrganisation>;
  createKey: (
    organisationId: Uuid,
    wanted?: { environment?: Environment; scopes?: readonly Scope[]; expiresAt?: Date },
  ) => Promise<{ id: Uuid; key: string }>;
  client: (key: string | null, environment?: Environment) => Client;
  /** An end-user wallet, tier1 unless said otherwise, holding this balance. Its public id. */
  createWallet: (client?: Client, wanted?: { tier1?: boolean; balance?: Kobo }) => Promise<string>;
  /** Puts money into a wallet, whatever its limits say, as an inbound credit of the rail would. */
  fund: (organisationId: Uuid, walletId: string, amount: Kobo) => Promise<void>;
  balanceOf: (walletId: string) => Promise<Kobo>;
  close: () => Promise<void>;
}

export interface TestApiOptions {
  /** A database that another instance made; this one leaves it in place. */
  databaseUrl?: string;
  /** Where the API connects instead, for example a proxy in front of the database. */
  databaseUrlOfApi?: string;
  /** Settings of src/config.ts that differ. */
  settings?: Record<string, string | undefined>;
  rails?: (rails: Rails) => Rails;
  temporalIsUp?: () => Promise<boolean>;
  /** Whether its callers send a request again when the answer tells them to, as integrators do. */
  callersRetry?: boolean;
}

/** Enough connections for concurrency, few enough for many test files beside each other. */
const CONNECTIONS_MAX = 4;

/** Details that the KYC route takes. */
export const KYC = {
  bvn: '22212345678',
  dateOfBirth: '1990-02-28',
  gender: 'female',
  phone: '+2348012345678',
  addressLine1: '1 Marina Road',
  city: 'Lagos',
  state: 'Lagos',
} as const;

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database =
    options.databaseUrl === undefined
      ? await createDatabase()
      : { url: options.databaseUrl, drop: () => Promise.resolve() };
  const logged: string[] = [];
  const log = createLog('test', 'info', { write: (line: string) => void logged.push(line) });
  const { runtime, services, running } = await retryWhenTaken(async () => {
    const port = await freePort();
    const config = readConfig({
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
      // A test that is about them says so.
      SCHEDULES: 'off',
      ...options.settings,
    });
    const runtime = createRuntime(config, log);
    const services = {
      ...runtime,
      keyring: config.keyring,
      rails: options.rails?.(runtime.rails) ?? runtime.rails,
      temporalIsUp: options.temporalIsUp ?? (() => Promise.resolve(true)),
    };
    return { runtime, services, running: await startApi(services) };
  });
  const sql = connect(database.url, { connectionsMax: 2, role: 'owner' });
  const urls = {
    test: `http://127.0.0.1:${running.ports.test}/v1`,
    live: `http://127.0.0.1:${running.ports.live}/v1`,
  };

  const client = (key: string | null, environment: Environment = 'test'): Client =>
    createClient(urls[environment], key, environment, options.callersRetry);

  const createKey: TestApi['createKey'] = async (organisationId, wanted = {}) => {
    const { environment = 'test', scopes = SCOPES, expiresAt = null } = wanted;
    const key = newApiKey(environment);
    const id = newUuid();
    await insertApiKey(
      sql,
      {
        organisationId,
        environment,
        id,
        name: null,
        hash: hashApiKey(key),
        hint: key.slice(-4),
        scopes: [...scopes],
        expiresAt,
      },
      'test',
    );
    return { id, key };
  };

  const addOrganisation = async (): Promise<TestOrganisation> => {
    const made = await createOrganisation(sql, { name: 'Test Ltd', email: 'money@test.example', operator: 'test' });
    const { organisationId } = made;
    const [test, live] = await Promise.all([
      createKey(organisationId),
      createKey(organisationId, { environment: 'live' }),
    ]);
    return {
      organisationId,
      settlementWalletId: publicId('wallet', made.settlementWalletId),
      liveSettlementWalletId: publicId('wallet', made.liveSettlementWalletId),
      test: client(test.key),
      live: client(live.key, 'live'),
    };
  };

  const fund: TestApi['fund'] = async (organisationId, walletId, amount) => {
    const uuid = requireUuid('wallet', walletId);
    const [row] = await sql<{ environment: Environment }[]>`SELECT environment FROM wallets WHERE id = ${uuid}`;
    if (row === undefined) throw new Error(`no wallet ${walletId}`);
    const id = newUuid();
    const { outcome } = await runtime.journal.post({
      book: { organisationId, environment: row.environment },
      transaction: {
        id,
        key: `test/${id}`,
        kind: 'deposit',
        resource: walletId,
        effectiveAt: new Date(),
        rules: 'credit_exempt',
        postings: [{ debit: clearingAccount('sandbox'), credit: walletAccount(uuid), amount }],
      },
    });
    if (outcome !== 'posted') throw new Error(`the wallet could not be funded: ${outcome}`);
  };

  const organisation = await addOrganisation();

  const createWallet: TestApi['createWallet'] = async (caller = organisation.test, wanted = {}) => {
    const { data } = await caller.post('/wallets', { email: 'ada@test.example', fullName: 'Ada Obi' });
    // Repeated where a machine that is busy with something else answers 503 or 504: the details are the same each time.
    const isTier1 = async () => (await caller.post(`/wallets/${data.id}/kyc`, KYC)).status === 200;
    if (wanted.tier1 !== false) await waitFor(`${data.id} to be tier1`, isTier1);
    if (wanted.balance !== undefined) {
      const uuid = requireUuid('wallet', data.id);
      const [row] = await sql<{ organisationId: Uuid }[]>`SELECT organisation_id FROM wallets WHERE id = ${uuid}`;
      await fund(row?.organisationId ?? '', data.id, wanted.balance);
    }
    return data.id;
  };

  return {
    databaseUrl: database.url,
    urls,
    services,
    sql,
    logged,
    organisation,
    test: organisation.test,
    live: organisation.live,
    createOrganisation: addOrganisation,
    createKey,
    client,
    createWallet,
    fund,
    balanceOf: async (walletId) => {
      const [row] = await sql<{ balance: Kobo }[]>`
        SELECT balance FROM ledger.accounts WHERE code = ${walletAccount(requireUuid('wallet', walletId))}`;
      if (row === undefined) throw new Error(`no wallet ${walletId}`);
      return row.balance;
    },
    close: async () => {
      await running.close();
      await Promise.all([runtime.close(), sql.end()]);
      await database.drop();
    },
  };
}

/**
 * Calls an API at a base address that ends in `/v1`. On a machine that is busy with much else a request may pass its
 * deadline; a caller that retries then sends it again with the same Idempotency-Key.
 */
export function createClient(base: string, key: string | null, environment: Environment, retries = false): Client {
  const send: Client['call'] = async (method, path, { body, headers = {}, idempotencyKey } = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    return readAnswer(response.status, response.headers, await response.text());
  };
  const call: Client['call'] = (method, path, options) =>
    waitFor(`an answer to ${method} ${path}`, async () => {
      const answer = await send(method, path, options);
      return retries && isPastDeadline(answer) ? null : answer;
    });
  return {
    key,
    environment,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, { body }),
    money: (path, body, idempotencyKey = randomUUID()) => call('POST', path, { body, idempotencyKey }),
  };
}

const isPastDeadline = ({ status, error }: Answer): boolean =>
  status === 503 && error.details.retryable === true && error.details.service === 'database';

const STATUSES = [200, 201, 202, 204, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504];

/** Reads an answer and holds it to the contract: one of three shapes, an allowed status, the same request id twice. */
export function readAnswer(status: number, headers: Headers, text: string): Answer {
  const say = (problem: string): Error => new Error(`${problem} in the answer ${status} ${text}`);
  if (!STATUSES.includes(status)) throw say('a status outside the contract');
  if (!headers.get('content-type')?.startsWith('application/json')) throw say('no JSON');
  const body = JSON.parse(text) as Record<string, unknown>;
  const success = status < 400;
  const paginated = success && Array.isArray(body.data);
  const parts = success ? ['data', ...(paginated ? ['pagination'] : [])] : ['error'];
  if (Object.keys(body).toSorted().join() !== ['success', 'statusCode', 'meta', ...parts].toSorted().join()) {
    throw say('not the parts of an envelope');
  }
  if (body.success !== success || body.statusCode !== status) throw say('another outcome than the status');
  const { requestId } = body.meta as { requestId: string };
  if (!/^req_[0-9a-f]{24}$/.test(requestId)) throw say('no request id');
  if (headers.get('x-request-id') !== requestId) throw say('another X-Request-Id');
  if (headers.has('retry-after') !== (status === 429)) throw say('Retry-After belongs to 429 alone');
  if (!success) {
    const error = body.error as ErrorBody;
    if (Object.keys(error).toSorted().join() !== 'code,details,message,type') throw say('not the parts of an error');
    // The text is the catalog's own, so nothing from inside the service can leak through it.
    const entry = Object.entries(CATALOG).find(([code]) => code === error.code)?.[1];
    if (entry?.[0] !== status || entry[1] !== error.message) throw say('an error outside the catalog');
    if (error.type !== typeOf(error.code as ErrorCode)) throw say('another type than the status has');
  }
  return { status, headers, requestId, text, ...body, items: body.data } as unknown as Answer;
}
