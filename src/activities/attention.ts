// What operators do to parked flows, written to the audit trail.
import type { AttentionActivities } from '../workflows/attention/park.ts';
import type { ActivityDependencies } from './dependencies.ts';

export function createAttentionActivities({ sql }: Pick<ActivityDependencies, 'sql'>): AttentionActivities {
  return {
    /** One row an act. A repeat after a lost answer writes it once more, which an audit trail can bear. */
    async recordOperatorAction({ organisationId, environment, subject, action, operator, reason }) {
      await sql`
        INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
        VALUES (${organisationId}, ${environment}, ${operator}, ${action}, ${subject}, ${reason})`;
    },
  };
}
