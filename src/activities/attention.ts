// What flows ask about the operators who decide: whose code it is, and the audit entry of a decision.
import { identifyOperator } from '../resources/operators.ts';
import type { AttentionActivities } from '../workflows/attention/park.ts';
import type { OperatorActivities } from '../workflows/operators/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

export function createAttentionActivities({
  sql,
}: Pick<ActivityDependencies, 'sql'>): AttentionActivities & OperatorActivities {
  return {
    /** One row per action. A retry after a lost response writes a second row, which is acceptable in an audit trail. */
    async recordOperatorAction({ organisationId, environment, subject, action, operator, reason }) {
      await sql`
        INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
        VALUES (${organisationId}, ${environment}, ${operator}, ${action}, ${subject}, ${reason})`;
    },

    identifyOperator: (code) => identifyOperator(sql, code),
  };
}
