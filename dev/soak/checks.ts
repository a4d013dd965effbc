// Runs every check of the service in a loop during a soak. The traffic, the banks and the faults of a soak give none of
// them a reason, but a shortfall: whatever else one finds is a false alarm. A check that does not check is one too.
import { setTimeout as wait } from 'node:timers/promises';
import { connect, type Sql } from '../../src/database/pool.ts';
import type { Verification } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { runCommand } from '../chaos/operators.ts';
import type { Fault, Timed } from '../chaos/plan.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import { type Attempt, listUnchecked } from './attempts.ts';

const PAUSE_MS = 1_000;
const ALARMS_KEPT = 20;
/** A verification that has not ended by then has lost its connection, when the disk of the database was full. */
const VERIFIED_WITHIN_MS = 60_000;
/** The whole run reads what all callers have moved since the start. */
const RECONCILED_WITHIN_MS = 300_000;

export class Checks {
  readonly alarms: string[] = [];
  readonly #stack: ChaosStack;
  readonly #loops: Promise<void>[];
  readonly #startedAt = new Date();
  readonly #attempts: Attempt[] = [];
  #reconciliations = 0;
  #stoppedAtMs: number | null = null;

  /** When its plan begins. */
  constructor(stack: ChaosStack) {
    this.#stack = stack;
    this.#loops = [() => this.#verify(), () => this.#reconcile()].map((check) => this.#repeat(check));
  }

  async stop(): Promise<void> {
    this.#stoppedAtMs ??= this.#elapsedMs();
    await Promise.all(this.#loops);
  }

  /** How often each has ended. */
  get counts() {
    const ended = this.#attempts.filter(({ failure }) => failure === null);
    const verifications = ended.filter(({ check }) => check === 'verification').length;
    return { verifications, reconciliations: ended.length - verifications };
  }

  /** Checks that did not check until `stop`, although these faults are no reason. */
  listUnchecked(faults: readonly Timed<Fault>[]): string[] {
    return listUnchecked(this.#attempts, faults, this.#stoppedAtMs ?? this.#elapsedMs()).slice(0, ALARMS_KEPT);
  }

  #elapsedMs(): number {
    return Date.now() - this.#startedAt.getTime();
  }

  async #repeat(check: () => Promise<void>): Promise<void> {
    while (this.#stoppedAtMs === null) {
      await check();
      await wait(PAUSE_MS);
    }
  }

  #alarm(text: string): void {
    if (this.alarms.length < ALARMS_KEPT) this.alarms.push(`false alarm: ${text}`);
  }

  /** `attempt`: returns why it did not end, or throws; null: it did. */
  async #note(check: Attempt['check'], attempt: () => Promise<string | null>): Promise<void> {
    const fromMs = this.#elapsedMs();
    const failure = await attempt().catch((error: unknown) => String(error));
    this.#attempts.push({ check, fromMs, toMs: this.#elapsedMs(), failure });
  }

  async #verify(): Promise<void> {
    const sql = connect(this.#stack.ownerUrl, { connectionsMax: 4, role: 'owner' });
    await this.#note('verification', async () => {
      const verification = await Promise.race([verifyBooks(sql), wait(VERIFIED_WITHIN_MS, null, { ref: false })]);
      if (verification === null) return `not within ${VERIFIED_WITHIN_MS / 1000} s`;
      this.#report(verification);
      return null;
    });
    await sql.end({ timeout: 1 });
  }

  #report(verification: Verification): void {
    // What the banks charge may be more than the fees so far: the judge compares a shortfall with the banks' own books.
    const findings = verification.findings.filter(({ kind }) => kind !== 'SHORTFALL');
    for (const finding of findings) this.#alarm(`ledger verify finds ${JSON.stringify(finding)}`);
  }

  /** In turns: from where the books are reconciled to, and the whole run until this moment. */
  async #reconcile(): Promise<void> {
    const whole = ['--from', this.#startedAt.toISOString(), '--to', new Date().toISOString()];
    this.#reconciliations += 1;
    const isWhole = this.#reconciliations % 2 === 0;
    await this.#note(isWhole ? 'whole reconciliation' : 'reconciliation', async () => {
      const words = ['reconciliation', 'run', ...(isWhole ? whole : [])];
      const { output, failure } = await runCommand(words, this.#stack.settings, RECONCILED_WITHIN_MS);
      if (output === null) return failure ?? 'it printed nothing';
      const { breaks, failed } = output as { breaks: number; failed: number };
      if (breaks > 0) this.#alarm(`reconciliation run reports ${breaks} breaks`);
      return failed > 0 ? `the bank of ${failed} books failed` : null;
    });
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
