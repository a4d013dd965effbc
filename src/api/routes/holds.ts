// Holds (contract, section 4.5): money beside a wallet. A request creates one with a transfer or payment, and releases
// or cancels it here; its flow releases it when it is due.
import { z } from 'zod';
import { KeyedMutex } from '../../concurrency/keyedMutex.ts';
import { publicId } from '../../ids.ts';
import type { Movement, PostResult } from '../../ledger/movement.ts';
import { wakeHold } from '../../resources/flows.ts';
import { cancelledHold, releasedHold, releaseHold } from '../../resources/holds/movements.ts';
import { readReturnRefusal } from '../../resources/holds/payer.ts';
import {
  amountHeld,
  findHold,
  HOLD_STATUSES,
  type Hold,
  isOfTransfer,
  listHolds,
} from '../../resources/holds/queries.ts';
import { hold as holdSchema } from '../../resources/publicSchemas.ts';
import { TAKES_NOTHING } from '../../resources/reviewCases/movements.ts';
import { cancelHold } from '../../resources/transfers/movements.ts';
import { holdView } from '../../resources/views.ts';
import { decideRelease } from '../../workflows/hold/decide.ts';
import { ApiError } from '../errors.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { POSTING_ERRORS, throwIfRefused, untilPosted, wasPosted } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { amount, idFilter, optional, walletIdFilter } from '../schemas.ts';
import { REFUND_ERRORS, refundOfHold, throwIfExcess } from './refunds.ts';

/** Many requests about one hold: only one at a time passes the check of the version. */
const holdMutex = new KeyedMutex();

/** Posts what `decide` makes of the current hold, and reads and decides again on a conflict with another writer. */
const change = (call: Call, decide: (hold: Hold) => Promise<{ movement: Movement; next: Hold }>) =>
  holdMutex.run(call.params.id ?? '', () =>
    untilPosted(async () => {
      const { movement, next } = await decide(await requireHold(call));
      const data = holdView(next);
      const posting = call.dependencies.journal.post({
        ...movement,
        // A refund signals the flow itself.
        outbox: [...(movement.outbox ?? []), ...(movement.rows?.refunds ? [] : [wakeHold(call.book, next)])],
        outcome: call.outcome(data),
      });
      const result = await posting.catch(throwIfExcess(call, next.paymentId ?? ''));
      if (await isStale(call, movement, next, result)) return null;
      throwIfRefused(movement, result);
      return data;
    }),
  );

/** Whether to read and decide again: another change was first, or the wallet that paid takes nothing by now. */
async function isStale(call: Call, movement: Movement, next: Hold, result: PostResult): Promise<boolean> {
  if (result.outcome === 'refused')
    return isOfTransfer(next) && next.status === 'cancelled' && TAKES_NOTHING.includes(result.code);
  return !(await wasPosted(call, movement, result)); // another change of this version may have the key
}

const ended = ({ id, status }: Hold): ApiError => new ApiError('HOLD_ENDED', { holdId: publicId('hold', id), status });

const release = route({
  operationId: 'releaseHold',
  success: { status: 200, data: holdSchema },
  errors: ['HOLD_ENDED', 'HOLD_AMOUNT_EXCEEDED', ...POSTING_ERRORS],
  endpoint: 'POST /holds/:id/release',
  access: 'transfer',
  idempotencyKey: 'required',
  body: z.strictObject({ amount: optional(amount) }).prefault({}),
  handle: (call) =>
    change(call, (hold) => {
      const decision = decideRelease({ status: hold.status, amountHeld: amountHeld(hold) }, call.body.amount);
      if (decision.kind === 'ended') throw ended(hold);
      if (decision.kind === 'too_much') {
        const details = { amountHeld: decision.amountHeld, attemptedAmount: call.body.amount };
        throw new ApiError('HOLD_AMOUNT_EXCEEDED', { holdId: publicId('hold', hold.id), ...details });
      }
      const next = releasedHold(hold, decision.amount);
      return Promise.resolve({ movement: releaseHold(call.book, hold, next), next });
    }),
});

const cancel = route({
  operationId: 'cancelHold',
  success: { status: 200, data: holdSchema },
  errors: ['HOLD_ENDED', ...REFUND_ERRORS],
  endpoint: 'POST /holds/:id/cancel',
  access: 'transfer',
  idempotencyKey: 'required',
  body: z.strictObject({}).prefault({}),
  handle: (call) =>
    change(call, async (hold) => {
      if (hold.status !== 'held') throw ended(hold);
      const next = cancelledHold(hold);
      if (!isOfTransfer(next)) return await refundOfHold(call, hold);
      const refusal = await readReturnRefusal(call.sql, call.book, next.sourceWalletId);
      return { movement: cancelHold(call.book, next, refusal), next };
    }),
});

const reads = readRoutes({
  ...READABLE.hold,
  filters: {
    status: z.enum(HOLD_STATUSES).optional(),
    walletId: walletIdFilter.optional(),
    paymentId: idFilter('payment').optional(),
  },
  list: listHolds,
});

const requireHold = (call: Call): Promise<Hold> => requireRow(call, 'hold', findHold);

export const holdRoutes: Route[] = [release, cancel, ...reads];
