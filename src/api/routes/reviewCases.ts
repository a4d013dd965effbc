// Review cases (contract, section 4.11): money that waits for a decision. A caller whose key has the scope may decide
// what one operator could; the flow of the case sees that it is decided, and drives a return.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import { wakeReviewCase } from '../../resources/flows.ts';
import { reviewCase } from '../../resources/publicSchemas.ts';
import { KEY_ACTIONS, keyActions } from '../../resources/reviewCases/actions.ts';
import { decisionMovement } from '../../resources/reviewCases/decisions.ts';
import {
  findPaymentOfCase,
  findSenders,
  findVisibleCase,
  listVisibleCases,
  REVIEW_REASONS,
  REVIEW_STATUSES,
  type ReviewCase,
} from '../../resources/reviewCases/queries.ts';
import { reviewCaseView } from '../../resources/views.ts';
import { ApiError } from '../errors.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { throwIfRefused } from '../postOutcome.ts';
import { requireId, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { id, idFilter, optional, text, walletIdFilter } from '../schemas.ts';
import { WALLET_REFUSALS } from '../walletRefusal.ts';

/** Operators, a recall and other callers change a case too; so often only by a bug. */
const ATTEMPTS_MAX = 5;

const reads = readRoutes({
  resource: 'review_case',
  names: ['a review case', 'review cases'],
  path: '/review-cases',
  access: 'review',
  item: reviewCase,
  filters: {
    status: z.enum(REVIEW_STATUSES).optional(),
    reason: z.enum(REVIEW_REASONS).optional(),
    paymentId: idFilter('payment').optional(),
    walletId: walletIdFilter.optional(),
  },
  list: listVisibleCases,
  find: findVisibleCase,
  view: reviewCaseView,
});

const resolveBody = z
  .strictObject({ action: z.enum(KEY_ACTIONS), walletId: optional(id), reason: text(500) })
  .refine(({ action, walletId }) => walletId === undefined || action === 'credit', {
    path: ['walletId'],
    message: 'is only allowed with the action credit',
  });

const resolve = route({
  operationId: 'resolveReviewCase',
  summary: 'Decide where the money of a review case belongs',
  success: { status: 200, data: reviewCase },
  errors: [
    'REVIEW_CASE_NOT_FOUND',
    'WALLET_NOT_FOUND',
    'REVIEW_ACTION_UNAVAILABLE',
    'REVIEW_NEEDS_OPERATORS',
    'WALLET_TIER1_LIMIT_EXCEEDED',
    ...WALLET_REFUSALS,
  ],
  endpoint: 'POST /review-cases/:id/resolve',
  access: 'review',
  idempotencyKey: 'required',
  body: resolveBody,
  handle: async (call) => {
    const { dependencies, outcome } = call;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const row = await requireCase(call);
      const movement = await decide(call, row);
      const [next] = (movement.rows?.review_cases ?? []) as readonly ReviewCase[];
      if (next === undefined) throw new Error('a decision changes its case');
      const data = reviewCaseView(next);
      const posted = await dependencies.journal.post({ ...movement, outcome: outcome(data) });
      if (posted.outcome === 'posted') return data;
      if (posted.outcome === 'refused' && posted.code === 'REVIEW_NEEDS_OPERATORS') {
        throw new ApiError(posted.code, { reviewCaseId: publicId('reviewCase', row.id), action: call.body.action });
      }
      // Any other outcome: another decision of the same version of the case came first. Read again what it is now.
      if (posted.outcome === 'refused') throwIfRefused(movement, posted);
    }
    throw new Error(`a review case changed during each of ${ATTEMPTS_MAX} attempts to decide it`);
  },
});

type Decision = z.output<typeof resolveBody>;

/** The movement of the decision, with its audit entry and the signal to its flow. Throws the refusals. */
async function decide({ sql, caller, book, body }: Call<Decision>, row: ReviewCase): Promise<Movement> {
  const reviewCaseId = publicId('reviewCase', row.id);
  const { action } = body;
  const actions = keyActions(row);
  if (!actions.includes(action)) {
    throw new ApiError('REVIEW_ACTION_UNAVAILABLE', { reviewCaseId, status: row.status, action, actions });
  }
  const walletId = body.walletId === undefined ? undefined : requireId('wallet', body.walletId);
  const senders = action === 'return_to_sender' ? await findSenders(sql, book, row) : [];
  const movement = decisionMovement(book, row, {
    action,
    walletId: walletId ?? row.walletId,
    senders,
    attempts: 1,
    payment: await findPaymentOfCase(sql, book, row),
    waivesFee: false,
  });
  if (typeof movement === 'string') {
    throw new ApiError('REVIEW_ACTION_UNAVAILABLE', { reviewCaseId, status: row.status, action, reason: movement });
  }
  return {
    ...movement,
    decision: {
      proof: caller.proof,
      action: `review:${action}`,
      subject: reviewCaseId,
      ...(walletId !== undefined && { wallet: publicId('wallet', walletId) }),
      reason: body.reason,
    },
    outbox: [...(movement.outbox ?? []), wakeReviewCase(book, row)],
  };
}

/** Reads the case of the path. Throws REVIEW_CASE_NOT_FOUND. */
const requireCase = (call: Call): Promise<ReviewCase> => requireRow(call, 'review_case', findVisibleCase);

export const reviewCaseRoutes: Route[] = [...reads, resolve];
