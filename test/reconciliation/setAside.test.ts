// From the list of a provider to a case: a row that an adapter cannot read, or did not ask for, becomes a break with
// its text, sealed, and an open review case, once; the row beside it is imported.
import { afterAll, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { createReconciliationActivities } from '../../src/activities/reconciliation.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startTestApi } from '../support/api.ts';

const DAY_MS = 86_400_000;
const api = await startTestApi();
afterAll(() => api.close());

/** What is reconciled was paid ten minutes ago. */
const now = (): Date => new Date(Date.now() - 600_000);

interface Provider {
  rail: ClosableRail;
  /** Returns the session of the credit. */
  pay: (accountNumber: string) => Promise<string>;
  alter: (sessionId: string, fields: object) => void;
  close: () => Promise<void>;
}

async function startNomba(): Promise<Provider> {
  const fake = await new NombaFake(now).start();
  const idOf = (session: string): string => fake.rows.find(({ sessionId }) => sessionId === session)?.id ?? '';
  return {
    rail: createNombaRail(fake.credentials, now),
    pay: (accountNumber) => Promise.resolve(String(fake.pay(accountNumber, 202_000n))),
    alter: (sessionId, fields) => fake.lists.rows.set(idOf(sessionId), { ...fields }),
    close: () => fake.close(),
  };
}

async function startMonnify(): Promise<Provider> {
  const fake = await new MonnifyFake({ now }).start();
  return {
    rail: createMonnifyRail(fake.credentials, now),
    pay: async (accountNumber) => {
      const paid = await fake.pay(accountNumber, 202_000n);
      return typeof paid === 'string' ? paid : paid.transactionReference;
    },
    alter: (sessionId, fields) => fake.lists.rows.set(sessionId, { ...fields }),
    close: () => fake.close(),
  };
}

test.each([
  ['nomba', startNomba, { amount: '2,020.00', senderName: 'ADA OBI' }],
  ['nomba', startNomba, { timeCreated: '2019-11-22T09:30:00Z', senderName: 'ADA OBI' }],
  ['nomba', startNomba, { entryType: undefined, senderName: 'ADA OBI' }],
  ['monnify', startMonnify, { currencyCode: 'USD', payerName: 'ADA OBI' }],
  ['monnify', startMonnify, { completedOn: '2019-11-22T09:30:00.000+0000', payerName: 'ADA OBI' }],
] as const)('%s: a row that is not understood', async (name, start, fields) => {
  await api.sql`DELETE FROM organisations`;
  const { organisationId } = await api.createOrganisation();
  await api.sql`UPDATE organisations SET created_at = now() - interval '1 day' WHERE organisation_id = ${organisationId}`;
  const { rail, pay, alter, close } = await start();
  try {
    const sessions: string[] = [];
    for (const _ of ['odd', 'whole']) {
      const { accountNumber } = await rail.openVirtualAccount({
        organisationId,
        reference: publicId('payment', newUuid()),
        holder: { name: 'Ada Obi', email: 'ada@example.com', bvn: null },
        kind: 'one_off',
        amount: 202_000,
        expiresAt: new Date(now().getTime() + DAY_MS / 2),
      });
      sessions.push(await pay(accountNumber));
    }
    const [odd = '', whole = ''] = sessions;
    alter(odd, fields);

    const rails = new Rails({ test: guardedRail(rail) });
    const { reconcileBooks } = createReconciliationActivities({ ...api.dependencies, rails });
    expect(await new MockActivityEnvironment().run(reconcileBooks, null)).toMatchObject({ failed: 0 });

    const cases = () => api.sql<{ id: Uuid; reason: string; rail: string; status: string; sealedRow: string }[]>`
      SELECT id, reason, status, b.rail, sealed_row FROM reconciliation_breaks b JOIN review_cases c
        USING (organisation_id, environment, id)
      WHERE organisation_id = ${organisationId} AND kind = 'unreadable'`;
    const [opened, ...more] = await cases();
    expect([opened?.reason, opened?.status, opened?.rail, more]).toEqual(['reconciliation_break', 'open', name, []]);
    expect(opened?.sealedRow).not.toContain('ADA OBI');
    const text = api.dependencies.keyring.open('rail-row', opened?.id ?? '', opened?.sealedRow ?? '');
    expect(JSON.parse(text)).toMatchObject(JSON.parse(JSON.stringify(fields)));
    expect(text).toContain(odd);
    const credits = await api.sql`SELECT session_id FROM inbound_credits WHERE organisation_id = ${organisationId}`;
    expect(credits.map(({ sessionId }) => sessionId)).toEqual([whole]);

    await new MockActivityEnvironment().run(reconcileBooks, {
      from: new Date(Date.now() - DAY_MS).toISOString(),
      to: new Date().toISOString(),
    });
    expect(await cases()).toHaveLength(1);
  } finally {
    await rail.close();
    await close();
  }
});
