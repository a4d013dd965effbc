// What sealing costs a posting: the postings a second of one load, sealed at the pace of the service and not sealed, in
// turns. The postings that a turn leaves are sealed after it.
import { setTimeout as sleep } from 'node:timers/promises';
import { sealNext } from '../../src/verification/seals.ts';
import { type BenchBook, openBook, postOne, WALLETS } from '../book.ts';
import { measureInterleaved, median, type Sample, type Series } from '../measure.ts';
import type { Stage } from '../stage.ts';

const CALLERS = 64;
/** The shortest that ledger.seal accepts, and a second for the clocks. */
const SEAL_LAG_MS = 11_000;
/** Whether a turn is sealed: each two turns are compared. They are short, because the speed of a disk changes. */
const TURNS = [false, true, true, false, false, true, true, false, false, true, true, false, false, true, true, false];

export const sealing: Stage = {
  name: 'sealing',
  title:
    `Postings of ${CALLERS} callers, sealed at the pace of the service, ÷ the same load not sealed; ` +
    `${WALLETS.toLocaleString('en')} accounts. Hot: one account is in every transfer.`,
  run: async (bench) => {
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const series: Series[] = (['uniform', 'hot'] as const).map((load) => ({
        name: `${load}: sealed ÷ not sealed`,
        unit: 'ratio',
        measure: () => measureSealing(book, load, bench.quick ? 1 : 3),
      }));
      const measured = await measureInterleaved(series, bench.quick ? 1 : 5, bench.say);
      return {
        measured,
        goals: measured.map(({ name, median }) => ({ text: name, atLeast: 0.95, got: median })),
        plots: [],
        notes: [],
      };
    } finally {
      await book.close();
    }
  },
};

/**
 * In the middle of a turn that is sealed a part is, after which the service would pause for longer than the rest of the
 * turn. The value is the median of the quotients of two turns, because a stall of the disk makes one of them slow.
 */
async function measureSealing(book: BenchBook, load: 'hot' | 'uniform', seconds: number): Promise<Sample> {
  let posted = 0;
  let isMeasured = true;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (isMeasured) {
      await postOne(book, load);
      posted += 1;
    }
  });
  await sleep(SEAL_LAG_MS);
  const rates = { sealed: [] as number[], unsealed: [] as number[] };
  let sealed = 0;
  for (const isSealed of TURNS) {
    while ((await sealNext(book.sql, SEAL_LAG_MS)).isBehind); // the backlog of the turn before
    const before = posted;
    const sealedBefore = await countSealed(book);
    const startedAt = performance.now();
    const elapsed = (): number => performance.now() - startedAt;
    await sleep(500 * seconds);
    if (isSealed) await sealNext(book.sql, SEAL_LAG_MS);
    await sleep(Math.max(0, 1_000 * seconds - elapsed()));
    rates[isSealed ? 'sealed' : 'unsealed'].push(((posted - before) / elapsed()) * 1_000);
    sealed += (await countSealed(book)) - sealedBefore;
  }
  isMeasured = false;
  await Promise.all(callers);
  return {
    value: median(rates.sealed.map((rate, turn) => rate / (rates.unsealed[turn] ?? Number.NaN))),
    details: {
      'sealed/s': median(rates.sealed),
      'not sealed/s': median(rates.unsealed),
      'postings in a part': sealed / rates.sealed.length,
    },
  };
}

async function countSealed(book: BenchBook): Promise<number> {
  const [row] = await book.sql<{ postings: number }[]>`
    SELECT coalesce(sum(posting_count), 0)::float8 AS postings FROM ledger.seals`;
  return row?.postings ?? 0;
}
