// The promises of the rail port, each as one check, for the tests of an adapter: `railPromises(capabilities)` lists
// them, and a test runs `check(bench)` of each, where the bench (a RailBench) acts for the provider. They are run
// against the provider's sandbox or a strict stand-in of it, and need no test framework. An adapter in a repository of
// its own imports `manilla/rail/conformance` (docs/rails/writing-an-adapter.md).
import type { RailCapabilities } from './capabilities.ts';
import { accountPromises } from './conformance/accounts.ts';
import type { RailPromise } from './conformance/bench.ts';
import { statementPromises } from './conformance/statement.ts';
import { transferPromises } from './conformance/transfers.ts';

export type { RailBench, RailPromise } from './conformance/bench.ts';

/** What a rail with these capabilities promises. */
export const railPromises = (capabilities: RailCapabilities): RailPromise[] => [
  ...accountPromises(capabilities),
  ...transferPromises(capabilities),
  ...statementPromises(capabilities),
];
