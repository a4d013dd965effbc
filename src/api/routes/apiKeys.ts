// API keys of the caller's environment (contract, section 5). A key makes keys that may do what it may, or less; each
// change is in the audit log, under the key that made it.
import { z } from 'zod';
import { violatedCheck } from '../../database/errors.ts';
import { publicId } from '../../ids.ts';
import { parseRange } from '../../resources/addressRanges.ts';
import {
  type ApiKeyRow,
  findKeyOfBook,
  hasMade,
  insertApiKey,
  keyStatus,
  listKeysOfBook,
  replaceApiKey,
  revokeApiKey,
} from '../../resources/apiKeys.ts';
import { KEY_SCOPES, makeApiKey } from '../../resources/keys.ts';
import { apiKey, newApiKey } from '../contract/answers.ts';
import { ApiError, invalidField } from '../errors.ts';
import { type Grant, missingScopes, passedLimit } from '../keyGrant.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { line, optional, optionalOr, timestamp } from '../schemas.ts';
import { apiKeyView } from '../views.ts';

const ALLOWED_IPS_MAX = 100;
const RATE_LIMIT_MAX = 1_000_000;
const OVERLAP_HOURS_DEFAULT = 24;
const OVERLAP_HOURS_MAX = 24 * 30;
const HOUR_MS = 3_600_000;

const address = line(50).refine((range) => parseRange(range) !== null, {
  message: 'must be an IP address, or a range in CIDR notation such as 203.0.113.0/24',
  params: { code: 'invalid_string', constraint: { format: 'cidr' } },
});

const create = route({
  operationId: 'createApiKey',
  success: { status: 201, data: newApiKey },
  errors: ['API_KEY_EXCEEDS_OWN'],
  endpoint: 'POST /api-keys',
  access: 'keys',
  returnsSecret: true,
  body: z.strictObject({
    name: optional(line(100)),
    scopes: z
      .array(z.enum(KEY_SCOPES))
      .min(1)
      .transform((scopes) => [...new Set(scopes)]),
    allowedIps: optional(z.array(address).min(1).max(ALLOWED_IPS_MAX)),
    rateLimit: optional(z.number().int().min(1).max(RATE_LIMIT_MAX)),
    expiresAt: optional(timestamp),
  }),
  handle: async (call) => {
    const { sql, caller, book, body, now, outcome } = call;
    if (body.expiresAt !== undefined) assertFuture(body.expiresAt, now);
    const own = await requireOwn(call);
    const wanted = {
      environment: book.environment,
      name: body.name ?? null,
      scopes: body.scopes,
      allowedIps: body.allowedIps ?? own.allowedIps,
      rateLimit: body.rateLimit ?? own.rateLimit,
      expiresAt: body.expiresAt ?? own.expiresAt,
    };
    assertMayGive(call, own, wanted);
    const made = makeApiKey(book.organisationId, wanted);
    const data = viewOfNew(call, made);
    await withinBudgets(insertApiKey(sql, { ...made.row, createdAt: now }, caller.proof, outcome(data)));
    return data;
  },
});

const reads = readRoutes({
  resource: 'api_key',
  path: '/api-keys',
  access: 'keys',
  item: apiKey,
  list: listKeysOfBook,
  find: findKeyOfBook,
  view: apiKeyView,
});

const rotate = route({
  operationId: 'rotateApiKey',
  success: { status: 201, data: newApiKey },
  errors: ['API_KEY_NOT_ACTIVE', 'API_KEY_EXCEEDS_OWN'],
  endpoint: 'POST /api-keys/:id/rotate',
  access: 'keys',
  returnsSecret: true,
  body: z
    .strictObject({ overlapHours: optionalOr(z.number().min(0).max(OVERLAP_HOURS_MAX), OVERLAP_HOURS_DEFAULT) })
    .prefault({}),
  handle: async (call) => {
    const { sql, caller, book, body, now, outcome } = call;
    const old = await requireKey(call);
    await assertMayEnd(call, old);
    const keyId = publicId('apiKey', old.id);
    if (keyStatus(old) !== 'active') throw new ApiError('API_KEY_NOT_ACTIVE', { keyId, status: keyStatus(old) });
    const overlapEnd = now.getTime() + body.overlapHours * HOUR_MS;
    const oldExpiresAt = new Date(Math.min(overlapEnd, old.expiresAt?.getTime() ?? overlapEnd));
    const made = makeApiKey(book.organisationId, old);
    const successor = { ...made.row, createdAt: now };
    const data = viewOfNew(call, made);
    if (!(await withinBudgets(replaceApiKey(sql, old, oldExpiresAt, successor, caller.proof, outcome(data))))) {
      const { revokedAt } = await requireKey(call);
      throw new ApiError('API_KEY_NOT_ACTIVE', { keyId, status: revokedAt === null ? 'expired' : 'revoked' });
    }
    return data;
  },
});

const revoke = route({
  operationId: 'revokeApiKey',
  success: { status: 200, data: apiKey },
  errors: ['API_KEY_EXCEEDS_OWN'],
  endpoint: 'DELETE /api-keys/:id',
  access: 'keys',
  handle: async (call) => {
    const { sql, caller, book } = call;
    const key = await requireKey(call);
    await assertMayEnd(call, key);
    await revokeApiKey(sql, book.organisationId, key.id, { proof: caller.proof, reason: null });
    return apiKeyView(await requireKey(call));
  },
});

/** Throws VALIDATION_FAILED: a key that has expired already is a mistake of the caller's clock or time zone. */
function assertFuture(expiresAt: Date, now: Date): void {
  if (expiresAt > now) return;
  throw invalidField({
    field: 'expiresAt',
    code: 'too_small',
    message: 'must be in the future',
    constraint: { after: now.toISOString() },
  });
}

/** The key of the caller. */
async function requireOwn({ sql, book, caller }: Call): Promise<ApiKeyRow> {
  const own = await findKeyOfBook(sql, book, caller.keyId);
  if (own === null) throw new Error('the key of the caller is not in the database');
  return own;
}

/** Throws API_KEY_SCOPE_FORBIDDEN or API_KEY_EXCEEDS_OWN: no key gives what it has not. */
function assertMayGive({ dependencies }: Call, own: Grant, wanted: Grant): void {
  const missing = missingScopes(own.scopes, wanted.scopes);
  if (missing.length > 0) {
    throw new ApiError('API_KEY_SCOPE_FORBIDDEN', { requiredScopes: missing, providedScopes: own.scopes });
  }
  const field = passedLimit(own, wanted, dependencies.config.rateLimitPerMinute);
  if (field !== null) throw new ApiError('API_KEY_EXCEEDS_OWN', { field });
}

/** Throws as `assertMayGive`: a key ends itself and keys with the same rights or less, but none that it comes from. */
async function assertMayEnd(call: Call, key: ApiKeyRow): Promise<void> {
  const own = await requireOwn(call);
  assertMayGive(call, own, key);
  if (await hasMade(call.sql, call.book.organisationId, key.id, own.id)) {
    throw new ApiError('API_KEY_EXCEEDS_OWN', { field: 'createdBy' });
  }
}

/** Throws API_KEY_EXCEEDS_OWN for a key whose requests would count against too many limits. */
async function withinBudgets<Result>(made: Promise<Result>): Promise<Result> {
  try {
    return await made;
  } catch (error) {
    throw violatedCheck(error) === 'api_key_budgets_max'
      ? new ApiError('API_KEY_EXCEEDS_OWN', { field: 'rateLimit' })
      : error;
  }
}

const viewOfNew = ({ caller, now }: Call, { key, row }: ReturnType<typeof makeApiKey>) => ({
  ...apiKeyView({ ...row, createdBy: caller.keyId, revokedAt: null, lastUsedAt: null, createdAt: now }),
  key,
});

/** Reads the key of the path. Throws API_KEY_NOT_FOUND. */
const requireKey = (call: Call): Promise<ApiKeyRow> => requireRow(call, 'api_key', findKeyOfBook);

export const apiKeyRoutes: Route[] = [create, ...reads, rotate, revoke];
