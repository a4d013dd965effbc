// Runs every check of the service in a loop during a soak. The traffic, the banks and the faults of a soak give none of
// them a reason, but a shortfall: whatever else one finds is a false alarm.
import { setTimeout as wait } from 'node:timers/promises';
import { connect, type Sql } from '../../src/database/pool.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { runCommand } from '../chaos/operators.ts';
import type { ChaosStack } from '../chaos/stack.ts';

const PAUSE_MS = 1_000;
const ALARMS_KEPT = 20;
/** A verification that has not ended by then has lost its connection, when the disk of the database was full. */
const VERIFIED_WITHIN_MS = 60_000;

export class Checks {
  readonly alarms: string[] = [];
  /** How often each has ended. */
  readonly counts = { verifications: 0, reconciliations: 0 };
  readonly #stack: ChaosStack;
  readonly #loops: Promise<void>[];
  readonly #startedAt = new Date();
  #isStopped = false;

  constructor(stack: ChaosStack) {
    this.#stack = stack;
    this.#loops = [() => this.#verify(), () => this.#reconcile()].map((check) => this.#repeat(check));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }

  async #repeat(check: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      await check();
      await wait(PAUSE_MS);
    }
  }

  #alarm(text: string): void {
    if (this.alarms.length < ALARMS_KEPT) this.alarms.push(`false alarm: ${text}`);
  }

  async #verify(): Promise<void> {
    const sql = connect(this.#stack.ownerUrl, { connectionsMax: 4, role: 'owner' });
    const verifying = verifyBooks(sql).catch(() => null); // the database is being started again
    const verification = await Promise.race([verifying, wait(VERIFIED_WITHIN_MS, null, { ref: false })]);
    await sql.end({ timeout: 1 });
    if (verification === null) return;
    this.counts.verifications += 1;
    // What the banks charge may be more than the fees so far: the judge compares a shortfall with the banks' own books.
    const findings = verification.findings.filter(({ kind }) => kind !== 'SHORTFALL');
    for (const finding of findings) this.#alarm(`ledger verify finds ${JSON.stringify(finding)}`);
  }

  /** In turns: from where the books are reconciled to, and the whole run until this moment. */
  async #reconcile(): Promise<void> {
    const whole = ['--from', this.#startedAt.toISOString(), '--to', new Date().toISOString()];
    const period = this.counts.reconciliations % 2 === 0 ? [] : whole;
    const { output } = await runCommand(['reconciliation', 'run', ...period], this.#stack.settings);
    if (output === null) return; // workers stand still for longer than the command waits
    this.counts.reconciliations += 1;
    const { breaks } = output as { breaks: number };
    if (breaks > 0) this.#alarm(`reconciliation run reports ${breaks} breaks`);
  }
}

/** Breaks and cases that nothing in a soak is a reason for, also those that a later run has closed. */
export async function listFalseCases(sql: Sql): Promise<string[]> {
  const breaks = await sql`
    SELECT kind, line, reference, ledger_amount, statement_amount, at, created_at, cleared_at
    FROM reconciliation_breaks ORDER BY created_at LIMIT ${ALARMS_KEPT}`;
  const cases = await sql`
    SELECT reason, count(*)::int, min(created_at) AS first FROM review_cases
    WHERE reason IN ('reconciliation_break', 'credit_unconfirmed', 'paid_after_failure', 'credit_recalled')
    GROUP BY reason`;
  return [
    ...breaks.map((row) => `false break: ${JSON.stringify(row)}`),
    ...cases.map((row) => `false cases: ${JSON.stringify(row)}`),
  ];
}
