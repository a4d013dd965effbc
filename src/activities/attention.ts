// What flows ask about the operators who decide: whose code it is, and the audit entry of a decision that moves no
// money.
import { identifyOperator, withAudit } from '../resources/operators.ts';
import type { AttentionActivities } from '../workflows/attention/park.ts';
import { bookOf } from '../workflows/flows.ts';
import type { ActivityDependencies } from './dependencies.ts';

export function createAttentionActivities({
  sql,
  journal,
}: Pick<ActivityDependencies, 'sql' | 'journal'>): AttentionActivities {
  return {
    /** One row per action. A retry after a lost response writes a second row, which is acceptable in an audit trail. */
    async recordOperatorAction({ subject, ...entry }) {
      await journal.post(withAudit({ book: bookOf(entry) }, subject, [entry]));
    },

    identifyOperator: (code) => identifyOperator(sql, code),
  };
}
