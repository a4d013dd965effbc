// Providers that a test file adds. Its process runs other files after it.
import type { RailProvider } from '../../src/rail/provider.ts';
import { PROVIDERS } from '../../src/rail/providers.ts';

const providers = PROVIDERS as RailProvider[];
const known = providers.length;

/** Adds a provider. Adding it again does nothing. */
export function addProvider(provider: RailProvider): void {
  if (!providers.some(({ name }) => name === provider.name)) providers.push(provider);
}

/** Removes what the file has added, in the end. */
export const removeProviders = (): unknown => providers.splice(known);
