// A provider: the adapter of one bank or payment provider, from which the rail of each contract is made.
import type { z } from 'zod';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { RailCapabilities } from './capabilities.ts';
import type { BankRail } from './port.ts';

/**
 * The credentials and settings of a contract with a provider: a flat object of texts, sealed in the database. Each
 * field has a description, for prompts; `.meta({ secret: false })` marks one that may be shown, `.meta({ proves: true
 * })` the secret that a login is rejected without. Optional ones have a default.
 */
export type Credentials = Record<string, string>;

/** A contract of one organisation with a provider. `id` is in its callback address. */
export interface ProviderContract extends Book {
  id: Uuid;
  credentials: Credentials;
}

/** The rail of a contract. `close`: closes its connections. */
export type ClosableRail = BankRail & { close: () => Promise<void> };

export interface RailProvider {
  /** The name of its rails: short, and never changes. It is part of account codes and business keys. */
  name: string;
  /** Of the adapter. A check of the contract (`rail check`) with another version does not count. */
  version: string;
  /** What the rail of any contract can do. */
  capabilities: RailCapabilities;
  credentials: z.ZodObject<Record<string, z.ZodType<string, string | undefined>>>;
  /** Whether these credentials are of the provider's own sandbox, where no money is real. */
  isSandbox: (credentials: Credentials) => boolean;
  /** Makes the rail of a contract, once for each version of the credentials. No input or output happens here. */
  open: (contract: ProviderContract) => ClosableRail;
}
