// Who takes part in a run: an organisation with its API key, and operators.

import type { Sql } from '../../src/database/pool.ts';
import { newUuid, type Uuid } from '../../src/ids.ts';
import { CONTRACT_TIER1, type Policy } from '../../src/ledger/limits.ts';
import type { Environment } from '../../src/money.ts';
import { insertApiKey } from '../../src/resources/apiKeys.ts';
import { hashApiKey, makeApiKey, newApiKey, SCOPES } from '../../src/resources/keys.ts';
import { insertOperator } from '../../src/resources/operators.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setPolicy } from '../../src/resources/wallets/limits.ts';
import { OPERATOR_SCOPES } from '../../src/workflows/operators/messages.ts';

/** A business may send a part of what a wallet of the traffic sends in a run. */
const POLICY: Policy = {
  tier1: CONTRACT_TIER1,
  business: { balance: CONTRACT_TIER1.balance, daily_amount: 1_000_000, monthly_count: 8 },
};

export interface Participants {
  organisationId: Uuid;
  apiKey: string;
  /** Of each operator, in their order. */
  operatorKeys: string[];
}

export async function createParticipants(
  sql: Sql,
  { name, operators, environment = 'test' }: { name: string; operators: readonly string[]; environment?: Environment },
): Promise<Participants> {
  const { organisationId } = await createOrganisation(sql, { name, email: 'ops@test.example', proof: OWNER_PROOF });
  const act = { proof: OWNER_PROOF, reason: 'a chaos run' };
  await setPolicy(sql, { organisationId, environment }, POLICY, act);
  const stored = (key: string) => ({ hash: hashApiKey(key), hint: key.slice(-4) });
  const unlimited = { expiresAt: null, allowedIps: null, rateLimit: null };
  const ofKey = { environment, name: null, scopes: [...SCOPES], ...unlimited };
  const { key: apiKey, row } = makeApiKey(organisationId, ofKey);
  await insertApiKey(sql, row, OWNER_PROOF);
  const operatorKeys = operators.map(() => newApiKey('operator'));
  for (const [index, operator] of operators.entries()) {
    const key = stored(operatorKeys[index] as string);
    await insertOperator(sql, { id: newUuid(), name: operator, scopes: OPERATOR_SCOPES, key }, OWNER_PROOF);
  }
  return { organisationId, apiKey, operatorKeys };
}
