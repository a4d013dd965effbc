// The registry of providers that a contract can be connected with. The sandbox bank is not among them: it needs no
// contract and never serves live.
import { monnify } from './monnify/rail.ts';
import { nomba } from './nomba/rail.ts';
import type { RailProvider } from './provider.ts';

export const PROVIDERS: readonly RailProvider[] = [monnify, nomba];

export const providerNamed = (name: string): RailProvider | null =>
  PROVIDERS.find((provider) => provider.name === name) ?? null;
