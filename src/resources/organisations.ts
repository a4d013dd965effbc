// Queries for organisations. An organisation is created with its two settlement wallets; no money moves here.
import type { Sql } from '../database/pool.ts';
import { newUuid, type Uuid } from '../ids.ts';
import type { Proof } from './proofs.ts';

export interface Organisation {
  organisationId: Uuid;
  name: string;
  settlementWalletId: Uuid;
  liveSettlementWalletId: Uuid;
  createdAt: Date;
}

/**
 * Creates an organisation, a settlement wallet with its ledger account in each environment, and the audit entry. One
 * statement, so a lost connection leaves all of it or nothing. A settlement wallet belongs to the platform, so its
 * account is created verified and without limits.
 */
export async function createOrganisation(
  sql: Sql,
  options: { name: string; email: string; proof: Proof },
): Promise<Organisation> {
  const organisation = {
    organisationId: newUuid(),
    name: options.name,
    settlementWalletId: newUuid(),
    liveSettlementWalletId: newUuid(),
    createdAt: new Date(),
  };
  await sql`
    SELECT FROM ledger.create_organisation(
      ${organisation.organisationId}, ${options.name}, ${options.email}, ${organisation.settlementWalletId},
      ${organisation.liveSettlementWalletId}, ${organisation.createdAt}, ${options.proof})`;
  return organisation;
}

/** All organisations with their settlement wallets, oldest first. */
export const listOrganisations = (sql: Sql): Promise<Organisation[]> => sql<Organisation[]>`
    SELECT o.organisation_id, o.name, t.id AS settlement_wallet_id, l.id AS live_settlement_wallet_id, o.created_at
    FROM organisations o
    JOIN wallets t ON t.organisation_id = o.organisation_id AND t.environment = 'test' AND t.kind = 'settlement'
    JOIN wallets l ON l.organisation_id = o.organisation_id AND l.environment = 'live' AND l.kind = 'settlement'
    ORDER BY o.created_at, o.organisation_id`;
