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
import { throwIfRefused, untilPosted, wasPosted } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { requireId, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { id, idFilter, optional, text, walletIdFilter } from '../schemas.ts';
import { WALLET_REFUSALS } from '../walletRefusal.ts';

const reads = readRoutes({
  ...READABLE.reviewCase,
  filters: {
    status: z.enum(REVIEW_STATUSES).optional(),
    reason: z.enum(REVIEW_REASONS).optional(),
    paymentId: idFilter('payment').optional(),
    walletId: walletIdFilter.optional(),
  },
  list: listVisibleCases,
});

const resolveBody = z
  .strictObject({ action: z.enum(KEY_ACTIONS), walletId: optional(id), reason: text(500) })
  .refine(({ action, walletId }) => walletId === undefined || action === 'credit', {
    path: ['walletId'],
    message: 'is only allowed with the action credit',
  });

const resolve = route({
  operationId: 'resolveReviewCase',
  success: { status: 200, data: reviewCase },
  errors: [
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
  handle: (call) =>
    untilPosted(async () => {
      const row = await requireRow(call, 'review_case', findVisibleCase);
      const movement = await decide(call, row);
      const [next] = (movement.rows?.review_cases ?? []) as readonly ReviewCase[];
      if (next === undefined) throw new Error('a decision changes its case');
      const data = reviewCaseView(next);
      const posted = await call.dependencies.journal.post({ ...movement, outcome: call.outcome(data) });
      if (await wasPosted(call, movement, posted)) return data;
      if (posted.outcome === 'refused' && posted.code === 'REVIEW_NEEDS_OPERATORS') {
        throw new ApiError(posted.code, { reviewCaseId: publicId('reviewCase', row.id), action: call.body.action });
      }
      // Any other outcome: another decision of the same version of the case came first. Read again what it is now.
      if (posted.outcome === 'refused') throwIfRefused(movement, posted);
      return null;
    }),
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

export const reviewCaseRoutes: Route[] = [...reads, resolve];
