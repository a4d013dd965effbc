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
/** A day takes some ten seconds; most of it is waiting for windows to close and for a lost transfer to be given up. */
const DAY_LIMIT_MS = 240_000;

let flows: TestFlows;
let postman: Postman;
let openStage: () => Promise<Stage>;

beforeAll(async () => {
  postman = await startPostman();
  flows = await startTestFlows({ settings: { ...STORY_SETTINGS, SANDBOX_RAIL_CALLBACK_URL: postman.url } });
  openStage = await openTheatre(flows);
  await prepareInvariants(flows.sql);
});

afterAll(async () => {
  await flows.close();
  await postman.close();
});

test(
  `every kobo is in exactly one place after ${DAYS} days`,
  async () => {
    await fc.assert(
      fc.asyncProperty(day, async (one) => {
        const stage = await openStage();
        const world = new World(stage, postman);
        await world.live(one, stage);
        expect(world.faults).toEqual([]);
        expect(postman.refused).toEqual([]);
        expect(await violations(flows.sql, stage.organisationId)).toEqual([]);
      }),
      // The day that went wrong is shown as it was; to make it smaller takes as many days again.
      { numRuns: DAYS, endOnFailure: true },
    );
    expect((await verifyLedger(flows.sql)).findings).toEqual([]);
    await replayEverything(flows);
  },
  DAYS * DAY_LIMIT_MS,
);
