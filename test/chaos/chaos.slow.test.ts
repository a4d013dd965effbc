// A short chaos run: a stack of its own under traffic, with kills, freezes and cut connections, is all true afterwards;
// and the judge names what is then damaged in its database.
import { afterAll, expect, test } from '@jest/globals';
import { type ChaosRun, startChaosRun } from '../../dev/chaos/run.ts';

/** Kills an API, freezes Temporal, swallows packets of callers, and one stack's clocks are off by five minutes. */
const PLAN = { seed: 797, seconds: 6, perSecond: 6 };

const timeline: string[] = [];
let run: ChaosRun | undefined;

afterAll(() => run?.stop());

test('every answer is true, once, after parts were killed, frozen and cut off; damage is named', async () => {
  run = await startChaosRun({ ...PLAN, say: (line) => timeline.push(line) });
  await run.play();
  const whole = await run.judge();
  expect([...whole.wrong, ...(whole.wrong.length > 0 ? timeline : [])]).toEqual([]);
  expect(run.counts().faults).toBe(run.plan.faults.length);
  expect(whole.facts.operations.filter(({ answer }) => answer?.status === 201).length).toBeGreaterThan(10);
  expect(whole.facts.events.length).toBeGreaterThan(0);

  const { sql } = run.stack;
  const [event] = whole.facts.events;
  await sql`ALTER TABLE events DISABLE TRIGGER USER`;
  await sql`DELETE FROM events WHERE ledger.public_id(id, 'evt') = ${event?.id ?? ''}`;
  const [line] = await sql<{ reference: string }[]>`
    INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
    SELECT organisation_id, reference, kind, amount FROM sandbox_bank.statement_lines WHERE kind = 'sent' LIMIT 1
    RETURNING reference`;
  const [forgotten] = await sql<{ key: string }[]>`
    SELECT key FROM idempotency_keys WHERE status_code IS NOT NULL LIMIT 1`;
  expect(forgotten).toBeDefined();
  await sql`ALTER TABLE idempotency_keys DISABLE TRIGGER USER`;
  await sql`DELETE FROM idempotency_keys WHERE key = ${forgotten?.key ?? ''}`;
  await sql`UPDATE ledger.accounts SET period_maxima = '{1,NULL,NULL,NULL}' WHERE code LIKE 'wallet:%'`;
  const { wrong } = await run.judge();
  expect(wrong).toContainEqual(`the event ${event?.id} arrived, and does not exist`);
  expect(wrong).toContainEqual(`the bank paid ${line?.reference} 2 times`);
  expect(wrong).toContainEqual(expect.stringContaining('violated: no wallet sent more in a day or month'));
  expect(wrong).toContainEqual(
    expect.stringMatching(`key ${forgotten?.key}\\).*(and its replay|carried out as a new request)`),
  );
});
