// The report of a run, as it is stored: what each check found, and each exchange with the provider without the values.
import { safeMessage } from '../texts.ts';
import type { RailHarness } from './harness.ts';
import { type PromiseResult, VERDICTS, type Verdict } from './promise.ts';
import { shapeOf } from './shape.ts';

export type CheckReport = ReturnType<typeof reportOf>;

export function reportOf(
  { contract, isLive, startedAt, now, exchanges }: RailHarness,
  results: readonly PromiseResult[],
  required: readonly string[],
) {
  const countOf = (verdict: Verdict): number => results.filter((one) => one.verdict === verdict).length;
  const untried = results.filter(({ verdict, todo }) => verdict === 'SKIP' && todo !== null).map(({ id }) => id);
  const counts = VERDICTS.map((verdict) => [verdict, countOf(verdict)] as const);
  return {
    provider: contract?.provider.name ?? '',
    adapterVersion: contract?.provider.version ?? '',
    isLive,
    startedAt: startedAt.toISOString(),
    endedAt: now().toISOString(),
    /** Whether no check failed, and those that need neither money nor a person were all tried. */
    passed: countOf('FAIL') === 0 && !required.some((id) => untried.includes(id)),
    /** The checks that were not tried, although the rail offers what they try: what a pass does not prove. */
    untried,
    summary: Object.fromEntries(counts) as Record<Verdict, number>,
    checks: [...results],
    exchanges: exchanges.map(({ check, method, route, status, ms, json }) => ({
      check,
      method,
      route,
      status,
      ms,
      shape: shapeOf(json),
    })),
  };
}

/** Adapters leave secrets out of what they throw; this is the second lock. */
export function withoutSecrets({ contract }: RailHarness, text: string): string {
  const secrets = Object.entries(contract?.provider.credentials.shape ?? {}).flatMap(
    ([name, field]) => (field.meta()?.secret === false ? [] : contract?.credentials[name] || []), // an optional one may be empty
  );
  return secrets.reduce((words, secret) => words.replaceAll(secret, '***'), safeMessage(text) ?? '');
}
