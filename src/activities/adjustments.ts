// The activities of adjustments: the decision of an operator is posted or recorded, with its audit entry.
import { publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { postAdjustment, rejectAdjustment } from '../resources/adjustments/movements.ts';
import { type Adjustment, findAdjustment, findClosedPeriod } from '../resources/adjustments/queries.ts';
import { decisionOf, refusalText, versionText } from '../resources/operators.ts';
import { describeClosed, describeRefusal } from '../workflows/adjustment/decide.ts';
import type { AdjustmentActivities } from '../workflows/adjustment/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import type { AppliedDecision } from '../workflows/operators/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';
import { retryOnConflict } from './posting.ts';

const AFTER = { approve: 'posted', reject: 'rejected' } as const;
const MOVEMENTS = { approve: postAdjustment, reject: rejectAdjustment };

export function createAdjustmentActivities({ sql, journal }: ActivityDependencies): AdjustmentActivities {
  const read = async (book: Book, id: string): Promise<Adjustment> =>
    requireRow(await findAdjustment(sql, book, requireUuid('adjustment', id)), `adjustment ${id}`);

  return {
    async readAdjustment({ adjustmentId, ...scope }) {
      const { status, postings, reverses, requestedBy } = await read(bookOf(scope), adjustmentId);
      return {
        status,
        postings,
        reverses: reverses === null ? null : publicId('adjustment', reverses),
        requestedBy: publicId('operator', requestedBy),
      };
    },

    async applyAdjustmentDecision({ adjustmentId, ...scope }, { action, reason, code }) {
      const book = bookOf(scope);
      return await retryOnConflict(journal, async ({ post }): Promise<AppliedDecision | null> => {
        const row = await read(book, adjustmentId);
        const { status } = row;
        if (status !== 'requested') {
          // An earlier attempt has done it, or the other decision was first.
          return {
            outcome: status === AFTER[action] ? 'done' : 'refused',
            message: `The adjustment is ${status}.`,
            status,
          };
        }
        // It was open when the adjustment was requested.
        const closed = action === 'approve' ? await findClosedPeriod(sql, book, row) : null;
        if (closed !== null) return { outcome: 'refused', message: describeClosed(closed), status };
        const sent = { code, about: versionText(row), reason };
        const decision = decisionOf(sent, adjustmentId, `adjustment.${action}`);
        const result = await post(MOVEMENTS[action](book, row, decision));
        if (result.outcome === 'refused') {
          const { because } = result.detail;
          if (result.code === 'DECISION_REFUSED') {
            const outcome = because === 'same_person' ? 'refused' : 'denied';
            return { outcome, message: refusalText({ because }, decision), status };
          }
          return { outcome: 'refused', message: describeRefusal(result.code, result.account), status };
        }
        if (result.outcome !== 'posted') return null;
        return { outcome: 'done', message: `The adjustment is ${AFTER[action]}.`, status: AFTER[action] };
      });
    },
  };
}
