// How things stand: what the database and Temporal know of work that waits, as gauges. Asked by a worker when it is
// scraped, on a connection of its own, so that a look never takes the place of money.
import type { Client } from '@temporalio/client';
import { connect } from '../database/pool.ts';
import {
  databaseConnections,
  openReviewCases,
  outboxDepth,
  outboxLag,
  parkedFlowAge,
  parkedFlows,
  railPaused,
  reviewCaseAge,
  suspenseBalance,
  unattemptedAge,
  undeliveredAge,
} from '../telemetry/metrics.ts';
import type { Collector } from '../telemetry/metricsServer.ts';
import { CHOICES } from '../workflows/attention/decide.ts';
import type { AttentionCause } from '../workflows/attention/messages.ts';
import { FLOW_TOPIC } from '../workflows/flows.ts';
import { ATTENTION, ATTENTION_SINCE } from '../workflows/searchAttributes.ts';

/** Shorter than a scrape waits, so that the database is not still at it when the next one comes. */
const STATEMENT_TIMEOUT_MS = 2_000;
/** The longest waiting of a cause is looked for among so many; with more, the count alone is alarm enough. */
const PARKED_LOOKED_AT_MAX = 1_000;

const TOPICS = [FLOW_TOPIC, 'event'];
const ENVIRONMENTS = ['test', 'live'];

const BY_TOPIC = { outboxDepth, outboxLag };
const BY_ENVIRONMENT = {
  undeliveredAge,
  unattemptedAge,
  suspenseBalance,
  openReviewCases,
  reviewCaseAge,
  railPaused,
};
type GaugeName = keyof typeof BY_TOPIC | keyof typeof BY_ENVIRONMENT | 'databaseConnections';

/** What the database knows, in one statement. Close it before the process ends. */
export function databaseStanding(databaseUrl: string): Collector & { close: () => Promise<void> } {
  const sql = connect(databaseUrl, {
    connectionsMax: 1,
    closeWhenStalled: true,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  return {
    name: 'database',
    collect: async () => {
      // Suspense accounts are found by their book's index: no code that starts like that lies outside the bounds,
      // whatever the collation thinks of a colon.
      const rows = await sql<{ gauge: GaugeName; label: string; value: number }[]>`
        WITH waiting AS (
          SELECT environment, min(created_at) AS created_at, true AS never_attempted
          FROM outbox WHERE topic = 'event' GROUP BY environment
          UNION ALL
          -- One that is tried anew counts from none too, but is due at a time. The oldest of each is the first of its index.
          SELECT environment, (
            SELECT min(created_at) FROM webhook_deliveries d
            WHERE d.status = 'pending' AND d.environment = e.environment
              AND (d.attempts = 0 AND d.next_attempt_at IS NULL) = n.never_attempted), never_attempted
          FROM unnest(${ENVIRONMENTS}::text[]) AS e (environment), (VALUES (true), (false)) AS n (never_attempted)
        ), suspense AS (
          SELECT organisation_id, environment, id, balance FROM ledger.accounts
          WHERE code >= 'suspense' AND code < 'suspensf' AND code LIKE 'suspense:%'
        ), found (gauge, label, value) AS (
          SELECT 'outboxDepth', topic, count(*)::float8 FROM outbox GROUP BY topic
          UNION ALL
          SELECT 'outboxLag', topic, extract(epoch FROM now() - min(created_at))::float8 FROM outbox GROUP BY topic
          UNION ALL
          SELECT 'undeliveredAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM waiting WHERE created_at IS NOT NULL GROUP BY environment
          UNION ALL
          SELECT 'unattemptedAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM waiting WHERE never_attempted AND created_at IS NOT NULL GROUP BY environment
          UNION ALL
          SELECT 'suspenseBalance', s.environment, sum(coalesce(s.balance, (
            SELECT sum(p.amount) FROM ledger.postings p
            WHERE p.organisation_id = s.organisation_id AND p.credit_account_id = s.id), 0)
          - CASE WHEN s.balance IS NULL THEN coalesce((
            SELECT sum(p.amount) FROM ledger.postings p
            WHERE p.organisation_id = s.organisation_id AND p.debit_account_id = s.id), 0) ELSE 0 END)::float8
          FROM suspense s GROUP BY s.environment
          UNION ALL
          SELECT 'openReviewCases', environment, count(*)::float8 FROM review_cases WHERE status IN ('open', 'returning') GROUP BY environment
          UNION ALL
          SELECT 'reviewCaseAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM review_cases WHERE status IN ('open', 'returning') GROUP BY environment
          UNION ALL
          SELECT 'railPaused', environment, 1 FROM rail_pauses
          UNION ALL
          SELECT 'databaseConnections', '', count(*)::float8 FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = current_setting('application_name')
        )
        SELECT gauge, label, value FROM found`;
      return () => show(rows);
    },
    reset: () => {
      for (const gauge of [...Object.values(BY_TOPIC), ...Object.values(BY_ENVIRONMENT)]) gauge.reset();
      databaseConnections.remove();
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

function show(rows: readonly { gauge: GaugeName; label: string; value: number }[]): void {
  const found = (gauge: GaugeName, label: string): number =>
    Math.max(0, rows.find((row) => row.gauge === gauge && row.label === label)?.value ?? 0);
  for (const topic of TOPICS) {
    for (const [name, gauge] of Object.entries(BY_TOPIC)) gauge.set({ topic }, found(name as GaugeName, topic));
  }
  for (const environment of ENVIRONMENTS) {
    for (const [name, gauge] of Object.entries(BY_ENVIRONMENT)) {
      gauge.set({ environment }, found(name as GaugeName, environment));
    }
  }
  databaseConnections.set(found('databaseConnections', ''));
}

/** Causes that are shown as 0 while no flow waits for them, so that the first one counts as a rise. */
const CAUSES = Object.keys(CHOICES);

/** One pause, one dead endpoint, or one provider whose query tells other amounts, parks every flow that it concerns. */
const BY_THE_THOUSAND: readonly AttentionCause[] = [
  'rail_paused',
  'rail_unreachable',
  'credit_unconfirmed',
  'webhook_retries_exhausted',
];
const MANY = BY_THE_THOUSAND.map((cause) => `'${cause}'`).join(', ');

/** The flows that wait for a person, as Temporal's visibility lists them. */
export function parkedStanding(client: Client): Collector {
  return {
    name: 'temporal',
    collect: async () => {
      const found = new Map<string, { count: number; since: number }>();
      // Those that come by the thousand are looked at apart from the others, which they would hide behind the maximum.
      await Promise.all(
        [`NOT IN (${MANY})`, ...BY_THE_THOUSAND.map((cause) => `= '${cause}'`)].map(async (which) => {
          const query = `${ATTENTION.name} IS NOT NULL AND ${ATTENTION.name} ${which} AND ExecutionStatus = 'Running'`;
          let lookedAt = 0;
          for await (const { typedSearchAttributes } of client.workflow.list({ query })) {
            const cause = typedSearchAttributes.get(ATTENTION) ?? 'other';
            const since = typedSearchAttributes.get(ATTENTION_SINCE)?.getTime() ?? Date.now();
            const one = found.get(cause) ?? { count: 0, since };
            found.set(cause, { count: one.count + 1, since: Math.min(one.since, since) });
            lookedAt += 1;
            if (lookedAt === PARKED_LOOKED_AT_MAX) break;
          }
        }),
      );
      const now = Date.now();
      return () => {
        for (const cause of new Set([...CAUSES, ...found.keys()])) {
          const { count, since } = found.get(cause) ?? { count: 0, since: now };
          parkedFlows.set({ cause }, count);
          parkedFlowAge.set({ cause }, Math.max(0, (now - since) / 1000));
        }
      };
    },
    reset: () => {
      parkedFlows.reset();
      parkedFlowAge.reset();
    },
  };
}
