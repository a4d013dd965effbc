// The flow of a resource that has not begun: its message waits in the outbox.
import { firstOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { FLOW_TOPIC, SCHEDULED_TOPIC } from '../workflows/flows.ts';

export interface WaitingFlow {
  organisationId: Uuid;
  workflow: string;
  summary: string;
  state: string;
  /** When it starts, unless something happens before. */
  startsAt: Date;
  lastError: string | null;
}

/** `id`: the workflow id. For operators: it reads the whole outbox. */
export const findWaitingFlow = (sql: Sql, id: string): Promise<WaitingFlow | null> =>
  firstOf(sql<WaitingFlow[]>`
    SELECT organisation_id, message ->> 'workflow' AS workflow, message ->> 'summary' AS summary,
           message ->> 'state' AS state, available_at AS starts_at, last_error
    FROM outbox WHERE topic IN (${FLOW_TOPIC}, ${SCHEDULED_TOPIC}) AND message ->> 'id' = ${id} ORDER BY available_at LIMIT 1`);
