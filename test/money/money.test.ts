// Days of busy customers, payers and operators over the real API, worker and sandbox bank, with callbacks lost, repeated and
// out of order: whatever they do, every kobo is in exactly one place and the books agree with the bank's.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyLedger } from '../../src/ledger/verify.ts';
import '../ledger/seed.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { openTheatre, type Stage } from '../support/stage.ts';
import { STORY_SETTINGS } from '../support/stories.ts';
import { day } from './commands.ts';
import { prepareInvariants, violations } from './invariants.ts';
import { type Postman, startPostman } from './postman.ts';
import { World } from './world.ts';

/** Days to live; more of them for a long night: `MONEY_DAYS=200 npm test -- test/money`. */
const DAYS = Number(process.env.MONEY_DAYS ?? 3);
/** A day takes some twenty seconds; most of it is waiting for windows to close and for a lost transfer to be given up. */
const DAY_LIMIT_MS = 900_000;

let flows: TestFlows;
let postman: Postman;
let openStage: () => Promise<Stage>;

beforeAll(async () => {
  postman = await startPostman();
  flows = await startTestFlows({ settings: { ...STORY_SETTINGS, SANDBOX_RAIL_CALLBACK_URL: postman.url } });
  postman.serve(`${flows.urls.test}/rails/sandbox/callbacks`);
  openStage = await openTheatre(flows);
  await prepareInvariants(flows.sql);
});

afterAll(async () => {
  await flows.close();
  await postman.close();
});

// The days go by at the same time, each in an organisation of its own: all of them wait much and work little.
test.concurrent.each(fc.sample(day, DAYS).map((one, number) => ({ number: number + 1, one })))(
  'every kobo is in exactly one place after day $number',
  async ({ one }) => {
    const stage = await openStage();
    const world = new World(stage, postman);
    try {
      await world.live(one, stage);
      expect(world.faults).toEqual([]);
      expect(postman.refused).toEqual([]);
      expect(await violations(flows.sql, stage.organisationId)).toEqual([]);
    } catch (cause) {
      throw new Error(`It went wrong on this day: ${fc.stringify(one)}`, { cause });
    }
  },
  DAY_LIMIT_MS,
);

test(
  'the books of all days are whole, and every flow replays',
  async () => {
    expect((await verifyLedger(flows.sql)).findings).toEqual([]);
    await replayEverything(flows);
  },
  DAY_LIMIT_MS,
);
