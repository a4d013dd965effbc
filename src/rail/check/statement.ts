// The check of the statement: what this run did is on it once, with our references.
import { nairaText } from '../../money.ts';
import type { StatementLine } from '../port.ts';
import type { CheckBench } from './bench.ts';
import { type Finding, fail, pass, type RailCheck, skip } from './check.ts';

const POLL_EVERY_MS = 10_000;
const LISTED_WITHIN_MS = 120_000;

async function readLines({ rail, organisationId, startedAt, now, limit }: CheckBench): Promise<StatementLine[]> {
  const period = { from: new Date(startedAt.getTime() - 60_000), to: new Date(now().getTime() + 60_000) };
  const lines: StatementLine[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await rail.statement({ organisationId, ...period, cursor }, limit());
    lines.push(...page.lines);
    cursor = page.nextCursor;
    if (cursor === null) return lines;
  }
}

async function statement(bench: CheckBench): Promise<Finding> {
  const { rail, facts, now, pause } = bench;
  const lists = rail.capabilities.statement;
  const expected = [
    ...(lists.transfers ? facts.paid.map(({ reference, amount }) => ({ kind: 'sent', reference, amount })) : []),
    ...(lists.credits
      ? facts.credits.map(({ sessionId, asked }) => ({ kind: 'credit', reference: sessionId, amount: asked }))
      : []),
  ];
  if (expected.length === 0)
    return skip('nothing of this run is expected on it', 'Let it move money: see transfer.ok.');
  const endsAt = now().getTime() + LISTED_WITHIN_MS;
  for (;;) {
    const lines = await readLines(bench);
    const found = expected.map((one) => ({
      ...one,
      lines: lines.filter(({ kind, reference }) => kind === one.kind && reference === one.reference),
    }));
    const twice = found.find((one) => one.lines.length > 1);
    if (twice !== undefined)
      return fail(
        `a ${twice.kind} line is on it ${twice.lines.length} times`,
        'Ask the provider whether it was paid twice.',
      );
    const other = found.find((one) => one.lines.some(({ amount }) => amount !== one.amount));
    if (other !== undefined)
      return fail(
        `a ${other.kind} line of ${nairaText(other.amount)} has another amount`,
        'Report this with the stored exchanges: each would be a break of the reconciliation.',
      );
    const missing = found.filter((one) => one.lines.length === 0).length;
    if (missing === 0) {
      const charges = lines.some(({ kind }) => kind === 'charge')
        ? 'lines of their own'
        : 'told with their line, or not';
      return pass(`${expected.length} lines, once each, with our references; charges are ${charges}`);
    }
    if (now().getTime() >= endsAt)
      return fail(
        `${missing} of ${expected.length} lines are not on it after two minutes`,
        'Ask the provider when it lists them. The reconciliation compares a day at a time.',
      );
    await pause(POLL_EVERY_MS);
  }
}

export const statementChecks: readonly RailCheck[] = [
  { id: 'statement', after: ['auth.login'], optional: true, run: statement },
];
