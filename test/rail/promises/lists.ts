// Promises about lists: what came is on them whatever else its status says, one row hides no other, and they end.
import assert from 'node:assert/strict';
import { statementOf } from '../../../src/rail/pages.ts';
import type { StatementLine } from '../../../src/rail/port.ts';
import { listCredits } from '../../../src/rail/promises/credits.ts';
import { type RailHarness, runSoFar } from '../../../src/rail/promises/harness.ts';
import { type ControlledHarness, fails, type ListControl, type TriedPromise, underControl } from './control.ts';
import { payIn } from './credits.ts';

/** More than a page of any list. */
const MANY = 120;

const read = (harness: RailHarness) =>
  statementOf(harness.rail, { organisationId: harness.organisationId, ...runSoFar(harness) });

const kindsOf = (lines: readonly StatementLine[], reference: string): string[] =>
  lines.filter((line) => line.reference === reference).map(({ kind }) => kind);

/** A promise that needs control of the lists. */
const ofLists = (
  id: string,
  promised: string,
  run: (harness: ControlledHarness, lists: ListControl) => Promise<void>,
): TriedPromise =>
  underControl(id, promised, async (harness) => {
    if (harness.control.lists !== undefined) await run(harness, harness.control.lists);
  });

const paid = async (harness: ControlledHarness): Promise<string> =>
  (await payIn(harness, 'permanent')).credit.sessionId;

export const listsUnderControl: readonly TriedPromise[] = [
  ofLists(
    'list.came',
    'every status that says that money came is a credit, listed and confirmed',
    async (harness, lists) => {
      const { rail, organisationId } = harness;
      for (const status of lists.came) {
        const { sessionId, amount } = (await payIn(harness, 'permanent')).credit;
        lists.setStatus(sessionId, status);
        const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference: null });
        assert.ok(found !== null && typeof found === 'object' && found.recalledAt === null, status);
        assert.equal(found.amount, amount, status);
        const listed = await listCredits(harness, runSoFar(harness));
        assert.ok(
          listed.some((one) => one.sessionId === sessionId && one.recalledAt === null),
          status,
        );
        assert.deepEqual(kindsOf((await read(harness)).lines, sessionId), ['credit'], status);
      }
    },
  ),
  ofLists(
    'list.taken_back',
    'a credit that was taken back is listed as that, and left the statement',
    async (harness, lists) => {
      const { rail, organisationId } = harness;
      const sessionId = await paid(harness);
      const chargesOf = async (): Promise<number[]> => {
        const lines = (await read(harness)).lines.filter(({ reference }) => reference === sessionId);
        return lines.map(({ charge }) => charge);
      };
      const [charge = 0] = await chargesOf();
      lists.setStatus(sessionId, lists.takenBack);
      const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference: null });
      assert.ok(found !== null && typeof found === 'object' && found.recalledAt !== null);
      const listed = await listCredits(harness, runSoFar(harness));
      assert.ok(listed.some((one) => one.sessionId === sessionId && one.recalledAt !== null));
      assert.deepEqual(kindsOf((await read(harness)).lines, sessionId), ['credit', 'recalled']);
      // The charge may be posted by then, so its line stays, and another one gives it back.
      assert.deepEqual(await chargesOf(), [charge, 0 - charge]);
    },
  ),
  ofLists(
    'list.unread',
    'a row that cannot be read, or is of a time far outside of the period, is set aside once; the others count',
    async (harness, lists) => {
      const whole = await paid(harness);
      for (const fields of [null, ...lists.unreadable]) {
        const sessionId = await paid(harness);
        if (fields === null) lists.setStatus(sessionId, 'BRAND_NEW_STATUS');
        else lists.alter(sessionId, fields);
        const [before, after] = [await read(harness), await read(harness)];
        assert.deepEqual(kindsOf(before.lines, whole), ['credit']);
        assert.deepEqual(kindsOf(before.lines, sessionId), []);
        const rows = before.unread.filter(({ raw }) => raw.includes(sessionId));
        assert.equal(rows.length, 1, `set aside with its text: ${JSON.stringify(fields)}`);
        assert.deepEqual(after.unread, before.unread, 'a row is the same one in each run');
        const credits = (await listCredits(harness, runSoFar(harness))).map((one) => one.sessionId);
        assert.ok(credits.includes(whole) && (fields === null || !credits.includes(sessionId)));
        lists.setStatus(sessionId, lists.came[0] ?? '');
        lists.alter(sessionId, {});
      }
    },
  ),
  ofLists(
    'list.pages',
    'a row that is on two pages is one row, and a list that repeats a page ends',
    async (harness, lists) => {
      for (let count = 0; count < MANY; count += 1) await paid(harness);
      lists.overlap(true);
      const { lines } = await read(harness);
      lists.overlap(false);
      const names = lines.map(({ kind, reference }) => `${kind} ${reference}`);
      assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted());
      lists.loop(true);
      await fails(harness, 'RailUnavailableError', read(harness));
      await fails(harness, 'RailUnavailableError', listCredits(harness, runSoFar(harness)));
      lists.loop(false);
    },
  ),
];
