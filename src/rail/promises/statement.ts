// Promises about the statement: what was done is on it once, with our references, and nothing else.
import { nairaText } from '../../money.ts';
import { statementOf } from '../pages.ts';
import type { Period, StatementLine } from '../port.ts';
import { poll, type RailHarness, runSoFar } from './harness.ts';
import { type Finding, fail, fault, pass } from './promise.ts';

const POLL_EVERY_MS = 10_000;
const LISTED_WITHIN_MS = 120_000;

export const readLines = async (
  { rail, organisationId, limit }: RailHarness,
  period: Period,
): Promise<StatementLine[]> => (await statementOf(rail, { organisationId, ...period }, { signal: limit })).lines;

export async function statement(harness: RailHarness): Promise<Finding> {
  const { facts } = harness;
  const expected = [
    ...facts.paid.map(({ reference, amount }) => ({ kind: 'sent', reference, amount })),
    ...facts.credits.map(({ sessionId, asked }) => ({ kind: 'credit', reference: sessionId, amount: asked })),
  ];
  let lines: StatementLine[] = [];
  const linesOf = (one: (typeof expected)[number]): StatementLine[] =>
    lines.filter(({ kind, reference }) => kind === one.kind && reference === one.reference);
  await poll(harness, POLL_EVERY_MS, LISTED_WITHIN_MS, async () => {
    lines = await readLines(harness, runSoFar(harness));
    return expected.every((one) => linesOf(one).length > 0);
  });
  const twice = expected.find((one) => linesOf(one).length > 1);
  if (twice !== undefined)
    return fail(
      `a ${twice.kind} line is on it ${linesOf(twice).length} times`,
      'Ask the provider whether it was paid twice.',
    );
  const other = expected.find((one) => linesOf(one).some(({ amount }) => amount !== one.amount));
  if (other !== undefined)
    return fault(
      `a ${other.kind} line of ${nairaText(other.amount)} has another amount`,
      'each would be a break of the reconciliation',
    );
  const missing = expected.filter((one) => linesOf(one).length === 0).length;
  if (missing > 0)
    return fail(
      `${missing} of ${expected.length} lines are not on it after two minutes`,
      'Ask the provider when it lists them. The reconciliation compares a day at a time.',
    );
  const charges = lines.some(({ kind }) => kind === 'charge') ? 'lines of their own' : 'in their line, or not reported';
  return pass(`${expected.length} lines, once each, with our references; charges are ${charges}`);
}
