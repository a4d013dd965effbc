// Tries promises: each alone, as the tests of an adapter do, or one after the other with a report, as `rail check`.
import { type NotReadyCause, RailNotReadyError, RailRefusedError, RailUnavailableError } from '../errors.ts';
import { recorded } from '../exchanges.ts';
import { safeMessage } from '../texts.ts';
import type { RailHarness } from './harness.ts';
import {
  type Finding,
  fail,
  isOptional,
  type Need,
  notOffered,
  type PromiseResult,
  type RailPromise,
  skip,
  VERDICTS,
  type Verdict,
} from './promise.ts';
import { needsBvn } from './requests.ts';
import { shapeOf } from './shape.ts';

const REMEDIES: Record<NotReadyCause, string> = {
  underfunded: 'Fund the account that transfers are paid from.',
  duplicate_guard: 'Run it again after some minutes.',
  rate_limited: 'Run it again after some minutes; lower RAIL_ACTIVITIES_PER_SECOND of the workers.',
  unauthorised: 'Compare the credentials (`rail rotate`); have the public addresses of your machines listed.',
  feature_off: 'Ask the provider to enable the feature for the contract.',
};

/** What the error of a call means to an operator. */
function findingOf(error: unknown): Finding {
  if (error instanceof RailNotReadyError)
    return fail(`not accepted (${error.why}): ${error.message}`, REMEDIES[error.why]);
  if (error instanceof RailRefusedError) return fail(`refused: ${error.message}`, 'Ask the provider about this.');
  if (error instanceof RailUnavailableError)
    return fail(error.message, 'Run it again. If it lasts, report it with the stored exchanges.');
  // Its message may have anything in it.
  return fail(`the adapter failed (${error instanceof Error ? error.name : 'unknown'})`, 'Report it: this is a bug.');
}

/** What to do about what is missing; null: nothing is. */
function missing(harness: RailHarness, { needs }: RailPromise): Finding | null {
  const { to, movesMoney, isLive, payer, bvn, facts, contract, rail } = harness;
  const without: Record<Need, Finding | false> = {
    contract: contract === null && notOffered('the rail needs no contract'),
    account: to === null && skip('no account was named', 'Name one of your own: --to NUMBER --bank CODE.'),
    money: !movesMoney && skip('no money was to be moved', `Allow it: ${isLive ? '--live ' : ''}--yes-move-money.`),
    payer:
      payer === null &&
      skip('no one pays', 'Run it with --credit SECONDS, and pay what it asks for, by app or by the simulator.'),
    bvn:
      bvn === null &&
      needsBvn(rail.capabilities) &&
      skip('no BVN was given', 'Run it with --bvn, with the BVN of a person who agreed.'),
    trace:
      facts.credits.length + facts.paid.length === 0 &&
      skip('no money was moved that it could show', 'Let it move money too: --to and --bank, or --credit.'),
  };
  return needs.map((need) => without[need]).find((finding) => finding !== false) ?? null;
}

/** Tries one promise. Throws what the rail throws. */
export async function tryPromise(promise: RailPromise, harness: RailHarness): Promise<Finding> {
  return (
    missing(harness, promise) ??
    (await recorded(
      (exchange) => harness.exchanges.push({ ...exchange, check: promise.id }),
      async () => await promise.run(harness),
    ))
  );
}

/** Tries promises one after the other. One that throws is broken. `onResult` is called after each. */
export async function runPromises(
  promises: readonly RailPromise[],
  harness: RailHarness,
  onResult: (result: PromiseResult) => void = () => {},
): Promise<CheckReport> {
  const results: PromiseResult[] = [];
  const hasHeld = (id: string): boolean =>
    results.some((one) => one.id === id && (one.verdict === 'PASS' || one.verdict === 'WARN'));
  for (const promise of promises) {
    const { id, after } = promise;
    const broken = after.find((other) => !hasHeld(other));
    const finding =
      broken === undefined
        ? await tryPromise(promise, harness).catch(findingOf)
        : skip(`${broken} did not pass`, `See ${broken}.`);
    const result = { ...finding, id, found: withoutSecrets(harness, finding.found) };
    results.push(result);
    onResult(result);
  }
  const required = promises.filter((promise) => !isOptional(promise)).map(({ id }) => id);
  return reportOf(harness, results, required);
}

/** As it is stored: what each check found, and each exchange with the provider without the values. */
export type CheckReport = ReturnType<typeof reportOf>;

function reportOf(
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
function withoutSecrets({ contract }: RailHarness, text: string): string {
  const secrets = Object.entries(contract?.provider.credentials.shape ?? {}).flatMap(
    ([name, field]) => (field.meta()?.secret === false ? [] : contract?.credentials[name] || []), // an optional one may be empty
  );
  return secrets.reduce((words, secret) => words.replaceAll(secret, '***'), safeMessage(text) ?? '');
}
