// The HTTP application. Every request passes these steps, in this order:
//
//   hold refusals   the refusals of an overloaded process, and many refusals of strangers, are sent after some time; a
//                   connection is closed after an error if its request was not read to the end
//   respond         request id, envelope, log line, the only catch
//   check the host  404 where a host is configured and this is another one
//   match a route   404 ROUTE_NOT_FOUND for an unknown route and for a route of the other environment
//   authenticate    401: key present, well formed, of this host's environment, known, not expired or revoked; 403: used
//                   from an address that it does not allow
//   receive         the body is read; what is wrong with it is reported by `validate`
//   take a place    a process handles so many requests at a time, the next ones wait in turns; 503: too many wait.
//                   Before the first statement, so that a refusal costs the database nothing
//   rate limit      429: the key's requests this minute; the same statement looks up the Idempotency-Key
//   authorise       403: the route's scope
//   validate        400: query and body against the route's schemas
//   idempotency     400, 409 or a replay (POSTs with an Idempotency-Key)
//   handle          the route's handler
import { Readable } from 'node:stream';
import { type RouterContext as KoaRouterContext, Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import type { Environment } from '../money.ts';
import { parseRanges } from '../resources/addressRanges.ts';
import { readChangedPayments } from '../resources/payments/queries.ts';
import { overloaded, rateLimited } from '../telemetry/metrics.ts';
import { isTracing } from '../telemetry/tracing.ts';
import { ApiKeys } from './admission/apiKeys.ts';
import { clientAddress } from './admission/clientAddress.ts';
import { requireHost } from './admission/host.ts';
import { handleIdempotently, IdempotencyKeys, isIdempotencyKey } from './admission/idempotency.ts';
import { type Leave, Places } from './admission/places.ts';
import { createRateLimiter, type Rate } from './admission/rateLimit.ts';
import { OpenPages } from './checkout/openPages.ts';
import { addCheckout } from './checkout/pages.ts';
import type { ApiDependencies } from './dependencies.ts';
import { successEnvelope } from './envelope.ts';
import { ApiError, routeNotFound } from './errors.ts';
import { respond } from './middleware/answer.ts';
import { parseJson, readBody, requireUtf8 } from './middleware/body.ts';
import { holdRefusal, holdRefusals } from './middleware/holdRefusals.ts';
import { trace } from './middleware/trace.ts';
import { withLocations } from './payoutFile.ts';
import { addPages } from './reference/pages.ts';
import { createRequestLog } from './requestLog.ts';
import {
  type Call,
  type Caller,
  type CsvUpload,
  type FileAnswer,
  type FileFormat,
  type Page,
  type Route,
  requireScope,
  takesIdempotencyKey,
} from './route.ts';
import { ROUTES } from './routes/index.ts';
import { noQuery, parse } from './schemas.ts';

/** For an Accept that names its parameters (of CSV: RFC 4180, section 3). */
const MEDIA_TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  pdf: 'application/pdf',
} as const satisfies Record<FileFormat, string>;
/** By then most of the requests in progress are done. */
const OVERLOAD_RETRY_AFTER_SECONDS = 1;
/** Requests that wait for a place, half of them of one organisation: the 600 of a minute of two keys come at once. */
const WAITING_MAX = 2_048;
/** Shorter than the deadline of a request, so that there is time left to handle it. */
const WAIT_MAX_MS = 2_000;
/** The caller may rather know soon that it should come back. */
const OVERLOADED_WAIT_MAX_MS = 100;
/** Bank callbacks have a place for each so many of requests. */
const PLACES_PER_CALLBACK = 4;

export type RequestGuards = ReturnType<typeof createRequestGuards>;

/** Shared by all listeners of a process: caches, limits, idempotency keys, request log, open payment pages. */
export function createRequestGuards(dependencies: ApiDependencies) {
  const waits = { waitingMax: WAITING_MAX, waitMaxMs: WAIT_MAX_MS, overloadedWaitMaxMs: OVERLOADED_WAIT_MAX_MS };
  const { asyncCommitSql, config, log } = dependencies;
  return {
    apiKeys: new ApiKeys(asyncCommitSql),
    requestLog: createRequestLog(asyncCommitSql, log, config.maintenance.requestLogsKeptDays > 0),
    openPages: new OpenPages({
      readChanges: (seen) => readChangedPayments(asyncCommitSql, seen),
      pagesMax: config.checkout.pagesMax,
      onError: (error) => log.warn({ err: error }, 'could not look for changes of open payment pages'),
    }),
    trustedProxies: parseRanges(config.trustedProxies),
    checkRate: createRateLimiter(asyncCommitSql, config.rateLimitPerMinute),
    /** Of the requests of API keys. */
    places: new Places({ ...waits, places: config.requestsInProgressMax }),
    callbackPlaces: new Places({ ...waits, places: Math.ceil(config.requestsInProgressMax / PLACES_PER_CALLBACK) }),
    idempotencyKeys: new IdempotencyKeys({ ...dependencies, keptDays: config.maintenance.idempotencyKeysKeptDays }),
  };
}

/** The application for one environment's host. */
export function createApp(dependencies: ApiDependencies, guards: RequestGuards, environment: Environment): Koa {
  const app = new Koa();
  const routers = new Map<string, Router>();
  const routerOf = (path: string): Router => {
    const [, segment = ''] = path.split('/');
    const router = routers.get(segment) ?? new Router({ prefix: '/v1' });
    routers.set(segment, router);
    return router;
  };
  for (const route of ROUTES) {
    if (route.environments !== undefined && !route.environments.includes(environment)) continue;
    const handle = (ctx: KoaRouterContext) => serve(dependencies, guards, environment, route, ctx);
    routerOf(route.path).register(route.path, [route.method], handle);
  }
  const pages = new Router();
  addPages(pages, routerOf('/openapi.json'), environment);
  addCheckout(pages, dependencies, guards.openPages, environment);
  app.use(holdRefusals());
  if (isTracing()) app.use(trace(environment));
  app.use(respond(dependencies.log, environment, guards.requestLog));
  app.use(requireHost(dependencies.config, environment));
  app.use(byFirstSegment(routers));
  app.use(pages.routes());
  app.use(refuseUnknownRoute);
  app.silent = true; // `respond` logs errors
  return app;
}

/** A router tries its routes one after the other, so each has only those whose first segment after `/v1` it is. */
function byFirstSegment(routers: ReadonlyMap<string, Router>) {
  const handlers = new Map(Array.from(routers, ([segment, router]) => [segment, router.routes()]));
  const handle: ReturnType<Router['routes']> = (ctx, next) => {
    const segment = ctx.path.split('/', 3)[2] ?? '';
    return handlers.get(segment.toLowerCase())?.(ctx, next) ?? next();
  };
  return Object.assign(handle, { routers: [...routers.values()] });
}

/** Throws ROUTE_NOT_FOUND. For a known path, with the methods that it supports, also in `Allow` (RFC 9110, 10.2.1). */
function refuseUnknownRoute(ctx: Context): never {
  const layers = (ctx as Context & Partial<Pick<KoaRouterContext, 'matched'>>).matched ?? [];
  const allowedMethods = [...new Set(layers.flatMap(({ methods }) => methods))].toSorted();
  if (allowedMethods.length > 0) ctx.set('Allow', allowedMethods.join(', '));
  throw routeNotFound(`${ctx.method} ${ctx.path}`, allowedMethods.length > 0 ? { allowedMethods } : {});
}

async function serve(
  dependencies: ApiDependencies,
  guards: RequestGuards,
  environment: Environment,
  route: Route,
  ctx: KoaRouterContext,
): Promise<void> {
  ctx.state.route = `${route.method.toUpperCase()} ${route.path}`;
  ctx.state.params = ctx.params;
  const caller = await authenticate(dependencies, guards, environment, route, ctx);
  const received = await receive(route, ctx);
  const leave = await takePlace(guards, route, caller, ctx);
  let upload: Upload | null = null;
  try {
    const { now, keyIsKnown } = await count(guards, route, caller, ctx);
    requireScopeOf(caller, route);
    if (received instanceof ApiError) throw received;
    const rawBody = received;
    upload = readUpload(route, ctx, rawBody);
    const query = upload === null ? readQuery(route, ctx) : undefined;
    ctx.status = route.success.status;
    const format = formatOf(route, ctx);
    const call: Call = {
      dependencies,
      sql: dependencies.sql,
      caller,
      book: caller.book,
      environment,
      params: ctx.params,
      headers: ctx.headers,
      rawBody,
      body: route.body && parse(route.body, upload === null ? parseJson(ctx, rawBody) : upload.body),
      query,
      requestId: ctx.state.requestId,
      now,
      outcome: () => undefined,
      repeatId: null,
      format,
    };
    send(ctx, route, format, await handleIdempotently(guards.idempotencyKeys, route, keyIsKnown, call, ctx));
  } catch (error) {
    throw upload === null ? error : withLocations(error, upload.locationOf);
  } finally {
    leave?.();
  }
}

/** The bytes of the body, or why they could not be read. */
async function receive(route: Route, ctx: Context): Promise<Buffer | ApiError> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return Buffer.alloc(0);
  try {
    return await readBody(ctx, route.bodyBytesMax);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

type Upload = ReturnType<CsvUpload['read']>;

/** A body that is CSV, where the route takes that, with what its query adds. Throws VALIDATION_FAILED. */
function readUpload({ fromCsv }: Route, ctx: Context, rawBody: Buffer): Upload | null {
  if (fromCsv === undefined || ctx.is('text/csv') !== 'text/csv') return null;
  requireUtf8(ctx);
  const given = parse(fromCsv.query, { ...ctx.query });
  const { body, locationOf } = fromCsv.read(rawBody);
  return { body: { ...given, ...body }, locationOf };
}

/** Parses the query string; a route without a query schema takes no parameters. Throws VALIDATION_FAILED. */
function readQuery(route: Route, ctx: Context): unknown {
  if (route.query !== undefined) return parse(route.query, { ...ctx.query });
  if (ctx.querystring !== '') parse(noQuery, { ...ctx.query });
  return undefined;
}

/** Checks the API key. A route without authentication gets a caller that has no key. */
async function authenticate(
  dependencies: ApiDependencies,
  { apiKeys, trustedProxies }: RequestGuards,
  environment: Environment,
  route: Route,
  ctx: KoaRouterContext,
): Promise<Caller> {
  if (route.access === 'none') {
    const organisationId = (await route.organisationOf?.(dependencies, environment, ctx.params)) ?? '';
    return {
      keyId: '',
      proof: '',
      scopes: [],
      budgets: [{ keyId: '', rateLimit: null }],
      book: { organisationId, environment },
    };
  }
  const address = clientAddress(ctx.req, trustedProxies);
  const caller = await apiKeys.authenticate(ctx.headers.authorization, environment, address);
  ctx.state.caller = caller;
  return caller;
}

/**
 * Takes a place for the request of an organisation, after waiting for one if all are taken; null: a route that belongs
 * to no organisation needs none. Throws SERVICE_UNAVAILABLE when too many wait.
 */
async function takePlace(
  guards: RequestGuards,
  route: Route,
  { book: { organisationId } }: Caller,
  ctx: Context,
): Promise<Leave | null> {
  if (organisationId === '') return null;
  const places = route.access === 'none' ? guards.callbackPlaces : guards.places;
  const leave = places.tryTake() ?? (await places.wait(organisationId, closingOf(ctx)));
  if (leave !== null) return leave;
  overloaded.inc();
  holdRefusal(ctx);
  throw new ApiError('SERVICE_UNAVAILABLE', { service: 'api', retryAfterSeconds: OVERLOAD_RETRY_AFTER_SECONDS });
}

/** Aborted when the response was sent or its connection closed. */
function closingOf({ res }: Context): AbortSignal {
  const closing = new AbortController();
  if (res.closed) closing.abort();
  res.once('close', () => closing.abort());
  return closing.signal;
}

/** Counts the request of a key, where the route needs one. Throws RATE_LIMIT_EXCEEDED. */
async function count({ checkRate }: RequestGuards, route: Route, caller: Caller, ctx: Context) {
  if (route.access === 'none') return { now: new Date(), keyIsKnown: false };
  const idempotencyKey = takesIdempotencyKey(route) ? ctx.get('Idempotency-Key') : '';
  const { rate, ...counted } = await checkRate(caller, isIdempotencyKey(idempotencyKey) ? idempotencyKey : undefined);
  setRateLimitHeaders(ctx, rate, counted.now);
  return counted;
}

/** Throws API_KEY_SCOPE_FORBIDDEN. A read needs the scope, or its reads alone. */
function requireScopeOf(caller: Caller, { access, method }: Route): void {
  if (access !== 'any' && access !== 'none') requireScope(caller, [access].flat(), { reads: method === 'get' });
}

function setRateLimitHeaders(ctx: Context, rate: Rate, now: Date): void {
  ctx.set('X-RateLimit-Limit', String(rate.limit));
  ctx.set('X-RateLimit-Remaining', String(rate.remaining));
  ctx.set('X-RateLimit-Reset', String(Math.ceil(rate.resetAt.getTime() / 1000)));
  if (!rate.exceeded) return;
  rateLimited.inc();
  const retryAfterSeconds = Math.max(1, Math.ceil((rate.resetAt.getTime() - now.getTime()) / 1000));
  ctx.set('Retry-After', String(retryAfterSeconds));
  const resetAt = rate.resetAt.toISOString();
  throw new ApiError('RATE_LIMIT_EXCEEDED', { limit: rate.limit, remaining: 0, resetAt, retryAfterSeconds });
}

/** What the caller prefers of what the route has. */
function formatOf({ success: { files = [] } }: Route, ctx: Context): Call['format'] {
  if (files.length === 0) return 'json';
  const accepted = ctx.accepts('application/json', ...files.map((file) => MEDIA_TYPES[file]));
  return files.find((file) => MEDIA_TYPES[file] === accepted) ?? 'json';
}

/** Sends the result of a handler: the data of a resource, or a page of a list, or a file. */
function send(ctx: Context, { success }: Route, format: Call['format'], result: unknown): void {
  if (format !== 'json') {
    ctx.type = format;
    const name = ctx.path.replace('/v1/', '').replaceAll(/\W+/g, '-');
    ctx.set('Content-Disposition', `attachment; filename="${name}.${format}"`);
    ctx.body = Readable.from((result as FileAnswer).file);
    return;
  }
  const response = success.paginated === true ? (result as Page) : { data: result };
  ctx.body = successEnvelope(ctx.status, response, ctx.state.requestId);
  // For the log line. Taken from the response: an id in the path may be any text.
  const id = (response.data as { id?: unknown } | null | undefined)?.id;
  if (typeof id === 'string') ctx.state.resource = id;
}
