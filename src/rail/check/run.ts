// Runs the checks of a contract one after the other. One that throws has failed, with what the error tells an operator.
import {
  type NotReadyCause,
  RailCallError,
  RailNotReadyError,
  RailRefusedError,
  RailUnavailableError,
} from '../errors.ts';
import { recorded } from '../exchanges.ts';
import type { CheckBench } from './bench.ts';
import { type CheckResult, type Finding, fail, type RailCheck, skip } from './check.ts';
import { type CheckReport, reportOf, withoutSecrets } from './report.ts';

const REMEDIES: Record<NotReadyCause, string> = {
  underfunded: 'Fund the account that transfers are paid from.',
  duplicate_guard: 'Run it again after some minutes.',
  rate_limited: 'Run it again after some minutes; lower RAIL_ACTIVITIES_PER_SECOND of the workers.',
  unauthorised: 'Compare the credentials (`rail rotate`); have the public addresses of your machines listed.',
  feature_off: 'Ask the provider to enable the feature for the contract.',
};

function findingOf(error: unknown): Finding {
  if (error instanceof RailNotReadyError)
    return fail(`not accepted (${error.why}): ${error.message}`, REMEDIES[error.why]);
  if (error instanceof RailRefusedError) return fail(`refused: ${error.message}`, 'Ask the provider about this.');
  if (error instanceof RailUnavailableError)
    return fail(error.message, 'Run it again. If it lasts, report it with the stored exchanges.');
  if (error instanceof RailCallError) return fail(error.message, 'Run it again.');
  // Its message may have anything in it.
  return fail(`the adapter failed (${error instanceof Error ? error.name : 'unknown'})`, 'Report it: this is a bug.');
}

/** `onResult` is called after each check. */
export async function runChecks(
  checks: readonly RailCheck[],
  bench: CheckBench,
  onResult: (result: CheckResult) => void = () => {},
): Promise<CheckReport> {
  const results: CheckResult[] = [];
  const exchanged: { check: string; from: number }[] = [];
  const hasHeld = (id: string): boolean =>
    results.some((one) => one.id === id && (one.verdict === 'PASS' || one.verdict === 'WARN'));
  for (const { id, after, run } of checks) {
    exchanged.push({ check: id, from: bench.exchanges.length });
    const missing = after.find((other) => !hasHeld(other));
    const finding =
      missing === undefined
        ? await recorded(
            (exchange) => bench.exchanges.push(exchange),
            () => run(bench),
          ).catch(findingOf)
        : skip(`${missing} did not pass`, `See ${missing}.`);
    const result = { ...finding, id, found: withoutSecrets(bench, finding.found) };
    results.push(result);
    onResult(result);
  }
  const required = checks.filter(({ optional }) => optional !== true).map(({ id }) => id);
  return reportOf(bench, results, exchanged, required);
}
