// Contracts with providers that serve live without a check of their credentials with this version that passed, which
// `RAIL_CHECK=required` refuses; and those that passed one without a transfer.
import type { StoredContract } from '../resources/rails/contracts.ts';

/** `version`: of the adapter that this version of the service has; null: it has none. */
export function checkWarnings(
  { rail, adapterVersion, passed, untried }: Pick<StoredContract, 'rail' | 'adapterVersion' | 'passed' | 'untried'>,
  version: string | null,
): string[] {
  if (version === null) return [`this version has no adapter for the rail ${rail}: its transfers and credits wait`];
  const check = `npm run cli -- rail check ${rail}`;
  if (passed === true && adapterVersion === version) {
    if (untried?.includes('transfer.ok') !== true) return [];
    return [`the contract with ${rail} was checked without a transfer: ${check} --live --yes-move-money`];
  }
  const found =
    passed === null
      ? 'was never checked with these credentials'
      : passed
        ? 'was checked with another version of its adapter'
        : 'failed its last check';
  return [`the contract with ${rail} ${found}: ${check}`];
}
