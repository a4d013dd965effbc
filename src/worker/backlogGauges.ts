// Backlog gauges: waiting work as counted in the database and in Temporal. A worker reads them when it is scraped, on a
// database connection of its own, so that a scrape never occupies a connection of the money path.
import type { Client } from '@temporalio/client';
import type postgres from 'postgres';
import { connect } from '../database/pool.ts';
import { listShortfalls } from '../ledger/safeguarding.ts';
import { ENVIRONMENTS, type Kobo } from '../money.ts';
import type { Rails } from '../rail/rails.ts';
import {
  databaseConnections,
  failingFlows,
  gaugesOfBooks,
  gaugesOfOutbox,
  parkedFlowAge,
  parkedFlows,
  railBalance,
} from '../telemetry/metrics.ts';
import type { Collector } from '../telemetry/metricsServer.ts';
import { ADJUSTMENT_ATTENTION } from '../workflows/adjustment/decide.ts';
import { CHOICES } from '../workflows/attention/decide.ts';
import { FLOW_TOPIC, onTaskQueues } from '../workflows/flows.ts';
import { HOLD_ATTENTION } from '../workflows/hold/decide.ts';
import { ATTENTION, ATTENTION_SINCE } from '../workflows/searchAttributes.ts';

/** Shorter than the time a scrape waits (3 s), so that no statement is still running at the next scrape. */
const STATEMENT_TIMEOUT_MS = 2_000;
/** Days that are looked at for proofs: a month is closed soon after it. */
const DAYS_READ = 31;
/** Parked flows read per query. Above this the oldest one may be missed; the count alone raises the alert. */
const PARKED_READ_MAX = 1_000;

const TOPICS = [FLOW_TOPIC, 'event'];

const TASKS = ['activity', 'workflow_task'];

interface GaugeRow {
  /** The name of the gauge in `telemetry/metrics.ts`. */
  gauge: string;
  label: string;
  value: number;
}

/**
 * Reads the gauges that come from the database: one statement, and one for each book with a shortfall. Close it before
 * the process ends.
 */
export function databaseGauges(
  databaseUrl: string,
  rails: Rails,
  railBalanceLow: Kobo,
  onNotice?: (notice: postgres.Notice) => void,
): Collector & { close: () => Promise<void> } {
  const sql = connect(databaseUrl, {
    connectionsMax: 1,
    closeWhenStalled: true,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    ...(onNotice && { onNotice }),
  });
  const withRail = ENVIRONMENTS.filter((environment) => rails.shared(environment) !== null);
  const railNames = withRail.map((environment) => rails.shared(environment)?.name ?? '');
  // Not grouped: each min() is the first row of an index, however many are pending.
  const oldestAttempted = ENVIRONMENTS.map(
    (environment) => sql`
          UNION ALL
          SELECT ${environment}::text, min(created_at), false FROM webhook_deliveries
          WHERE status = 'pending' AND attempted_at IS NOT NULL AND environment = ${environment}`,
  );
  return {
    name: 'database',
    collect: async () => {
      const rows = await sql<GaugeRow[]>`
        WITH waiting AS (
          SELECT environment, min(created_at) AS created_at, true AS never_attempted
          FROM outbox WHERE topic = 'event' GROUP BY environment
          ${oldestAttempted}
          UNION ALL -- of the others only those at an endpoint that responds wait for a first attempt
          SELECT w.environment, d.created_at, w.failing_since IS NULL AND w.status = 'enabled' AND w.deleted_at IS NULL
          FROM webhook_endpoints w
          CROSS JOIN LATERAL (
            SELECT created_at FROM webhook_deliveries
            WHERE status = 'pending' AND attempted_at IS NULL AND organisation_id = w.organisation_id
              AND endpoint_id = w.id
            ORDER BY created_at LIMIT 1
          ) d
        ), suspense AS (
          -- What verification explains the balances of the accounts with: they are as many as payments ever held money.
          SELECT environment, amount FROM review_cases WHERE status = 'open' AND account_code IS NOT NULL
          UNION ALL
          SELECT environment, amount_received FROM payments WHERE status = 'partial'
        ), balances AS (
          SELECT b.environment, b.rail, b.available FROM rail_progress b
          WHERE b.available IS NOT NULL AND EXISTS (
            SELECT FROM unnest(${withRail}::text[], ${railNames}::text[]) AS s (environment, rail)
            WHERE s.environment = b.environment AND s.rail = b.rail)
          UNION ALL
          SELECT b.environment, b.rail, b.available
          FROM rail_progress b
          JOIN rail_contracts c ON c.organisation_id = b.organisation_id AND c.environment = b.environment
            AND c.rail = b.rail AND c.disconnected_at IS NULL
          WHERE b.available IS NOT NULL
        ), gauges (gauge, label, value) AS (
          SELECT 'outboxDepth', topic, count(*)::float8 FROM outbox WHERE topic = ANY (${TOPICS}::text[]) GROUP BY topic
          UNION ALL
          SELECT 'outboxLag', topic, extract(epoch FROM now() - min(created_at))::float8
          FROM outbox WHERE topic = ANY (${TOPICS}::text[]) GROUP BY topic
          UNION ALL
          SELECT 'undeliveredAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM waiting WHERE created_at IS NOT NULL GROUP BY environment
          UNION ALL
          SELECT 'unattemptedAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM waiting WHERE never_attempted AND created_at IS NOT NULL GROUP BY environment
          UNION ALL
          SELECT 'suspenseBalance', environment, sum(amount)::float8 FROM suspense GROUP BY environment
          UNION ALL
          SELECT 'openReviewCases', environment, count(*)::float8 FROM review_cases WHERE status IN ('open', 'returning') GROUP BY environment
          UNION ALL
          SELECT 'reviewCaseAge', environment, extract(epoch FROM now() - min(created_at))::float8
          FROM review_cases WHERE status IN ('open', 'returning') GROUP BY environment
          UNION ALL
          SELECT 'reconciliationAge', r.environment,
                 extract(epoch FROM now() - min(greatest(p.reconciled_to, r.created_at)))::float8
          FROM (
            SELECT o.organisation_id, o.created_at, s.environment, s.rail
            FROM organisations o
            CROSS JOIN unnest(${withRail}::text[], ${railNames}::text[]) AS s (environment, rail)
            UNION ALL
            SELECT organisation_id, connected_at, environment, rail FROM rail_contracts WHERE disconnected_at IS NULL
          ) r
          LEFT JOIN rail_progress p
            ON p.organisation_id = r.organisation_id AND p.environment = r.environment AND p.rail = r.rail
          GROUP BY r.environment
          UNION ALL
          SELECT 'balanceBreaks', environment, count(*)::float8 FROM reconciliation_breaks
          WHERE kind = 'balance' AND cleared_at IS NULL GROUP BY environment
          UNION ALL
          SELECT 'railBalancesLow', environment, count(*)::float8 FROM balances
          WHERE available < ${railBalanceLow} GROUP BY environment
          UNION ALL
          SELECT 'railBalance', environment || ' ' || rail, min(available)::float8 FROM balances GROUP BY environment, rail
          UNION ALL
          SELECT 'unprovedDays', a.environment, count(*)::float8
          FROM ledger.accounts a
          CROSS JOIN ledger.accounting_day(now()) t (today)
          CROSS JOIN LATERAL generate_series(
            greatest(ledger.accounting_day(a.created_at), today - ${DAYS_READ}::integer), today - 1, interval '1 day'
          ) d (day)
          WHERE a.class <> 'customer' AND starts_with(a.code, 'clearing:') AND NOT EXISTS (
            SELECT FROM day_proofs p
            WHERE p.organisation_id = a.organisation_id AND p.environment = a.environment AND p.day = d.day::date
              AND p.rail = substr(a.code, length('clearing:_')))
          GROUP BY a.environment
          UNION ALL
          SELECT 'railPaused', environment, 1 FROM rail_pauses
          UNION ALL
          SELECT 'failingFlows', task, count(*)::float8 FROM failing_flows WHERE task IS NOT NULL GROUP BY task
          UNION ALL
          -- The function behind the view pg_stat_activity.
          SELECT 'databaseConnections', '', count(*)::float8 FROM pg_stat_get_activity(NULL)
          WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND application_name = current_setting('application_name')
        )
        SELECT gauge, label, value FROM gauges`;
      const short = await listShortfalls(sql);
      return () =>
        setGauges([
          ...rows,
          ...short.map(({ environment, amount }) => ({ gauge: 'shortfall', label: environment, value: amount })),
        ]);
    },
    reset: () => {
      for (const gauge of [...Object.values(gaugesOfOutbox), ...Object.values(gaugesOfBooks)]) gauge.reset();
      failingFlows.reset();
      railBalance.reset();
      databaseConnections.remove();
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

function setGauges(rows: readonly GaugeRow[]): void {
  const read = (gauge: string, label: string): number =>
    rows.reduce((sum, row) => (row.gauge === gauge && row.label === label ? sum + Math.max(0, row.value) : sum), 0);
  for (const topic of TOPICS) {
    for (const [name, gauge] of Object.entries(gaugesOfOutbox)) gauge.set({ topic }, read(name, topic));
  }
  for (const environment of ENVIRONMENTS) {
    for (const [name, gauge] of Object.entries(gaugesOfBooks)) gauge.set({ environment }, read(name, environment));
  }
  for (const task of TASKS) failingFlows.set({ task }, read('failingFlows', task));
  databaseConnections.set(read('databaseConnections', ''));
  railBalance.reset(); // a rail may be disconnected
  for (const { label, value } of rows.filter(({ gauge }) => gauge === 'railBalance')) {
    const [environment = '', rail = ''] = label.split(' ');
    railBalance.set({ environment, rail }, value);
  }
}

/** Causes that are reported as 0 while no flow is parked for them, so that the first one is an increase. */
const CAUSES = [...Object.keys(CHOICES), ADJUSTMENT_ATTENTION, HOLD_ATTENTION];

/** Bulk causes: one pause, one rail with wrong query results or one wrong statement opens as many as it concerns. */
const BULK_CAUSES = [
  'rail_paused',
  'rail_unreachable',
  'credit_unconfirmed',
  'review',
  'reconciliation_break',
  ADJUSTMENT_ATTENTION,
];
const BULK_LIST = BULK_CAUSES.map((cause) => `'${cause}'`).join(', ');

/** Reads the parked flows of this installation from Temporal's visibility list. */
export function parkedFlowGauges(client: Client, taskQueue: string): Collector {
  return {
    name: 'temporal',
    collect: async () => {
      const byCause = new Map<string, { count: number; since: number }>();
      // One query per bulk cause and one for all others, so that a bulk cause cannot use up PARKED_READ_MAX for others.
      await Promise.all(
        [`NOT IN (${BULK_LIST})`, ...BULK_CAUSES.map((cause) => `= '${cause}'`)].map(async (condition) => {
          const query =
            `${ATTENTION.name} IS NOT NULL AND ${ATTENTION.name} ${condition} AND ExecutionStatus = 'Running' ` +
            `AND ${onTaskQueues(taskQueue)}`;
          let read = 0;
          for await (const { typedSearchAttributes } of client.workflow.list({ query })) {
            const cause = typedSearchAttributes.get(ATTENTION) ?? 'other';
            const since = typedSearchAttributes.get(ATTENTION_SINCE)?.getTime() ?? Date.now();
            const known = byCause.get(cause) ?? { count: 0, since };
            byCause.set(cause, { count: known.count + 1, since: Math.min(known.since, since) });
            read += 1;
            if (read === PARKED_READ_MAX) break;
          }
        }),
      );
      const now = Date.now();
      return () => {
        for (const cause of new Set([...CAUSES, ...byCause.keys()])) {
          const { count, since } = byCause.get(cause) ?? { count: 0, since: now };
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
