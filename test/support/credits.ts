// Inserts inbound credits as rows, for tests of lists. Credits that move money are simulated with the sandbox bank
// instead.
import { requireUuid } from '../../src/ids.ts';
import type { TestApi } from './api.ts';

/** Inserts credits to the account number of a payment or wallet. Every second credit has a review case. */
export async function addCredits(
  api: TestApi,
  ownerKind: 'payment' | 'wallet',
  owner: string,
  count: number,
): Promise<void> {
  const ownerId = requireUuid(ownerKind, owner);
  await api.sql`
    WITH owner AS (
      SELECT organisation_id, environment FROM payments WHERE id = ${ownerId}
      UNION ALL SELECT organisation_id, environment FROM wallets WHERE id = ${ownerId}
    ), credits AS (
      INSERT INTO inbound_credits (organisation_id, environment, id, version, rail, session_id, account_number, amount,
                                   sender_name, sender_account_number, sender_bank_code, owner_kind, owner_id, status, received_at)
      SELECT organisation_id, environment, gen_random_uuid(), 1, 'sandbox', ${ownerId}::text || n, '0000000000', n,
             'Chidi Eze', '0123456789', '058', ${ownerKind}, ${ownerId},
             CASE WHEN n % 2 = 0 THEN 'posted' ELSE 'suspense' END, now()
      FROM owner, generate_series(1, ${count}) AS n
      RETURNING *
    )
    INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, account_code, inbound_credit_id,
                              attempts, created_at)
    SELECT organisation_id, environment, gen_random_uuid(), 1, 'wallet_frozen', 'open', amount, 'suspense:unmatched', id, 0, now()
    FROM credits WHERE status = 'suspense'`;
}
