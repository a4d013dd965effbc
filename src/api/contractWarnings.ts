// Contracts with providers that serve live without a check of this version that passed. `RAIL_CHECK=required` refuses
// them.
import type { StoredContract } from '../resources/railContracts.ts';

/** `version`: of the adapter that this version of the service has; null: it has none. */
export function checkWarnings(
  { rail, adapterVersion, passed }: Pick<StoredContract, 'rail' | 'adapterVersion' | 'passed'>,
  version: string | null,
): string[] {
  if (version === null) return [`this version has no adapter for the rail ${rail}: its transfers and credits wait`];
  if (passed === true && adapterVersion === version) return [];
  const found =
    passed === null
      ? 'was never checked'
      : passed
        ? 'was checked with another version of its adapter'
        : 'failed its last check';
  return [`the contract with ${rail} ${found}: npm run cli -- rail check ${rail}`];
}
