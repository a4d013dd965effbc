// Shortens what the providers' adapters wait for, so that a run of a minute sees the end of it: `node --import …`.
import { FAILURE_FINAL_AFTER_MS } from '../../src/rail/monnify/outcomes.ts';
import { PROVIDERS } from '../../src/rail/providers.ts';

/** More than a fake hides a transfer for, and than a call takes. */
const NOT_VISIBLE_FOR_MS = 12_000;

for (const { capabilities } of PROVIDERS) capabilities.transfers.notVisibleForMs = NOT_VISIBLE_FOR_MS;
// By whatever clock, of which two may differ by ten minutes here.
Object.assign(FAILURE_FINAL_AFTER_MS, { final: -600_000, query_again: -600_000 });
