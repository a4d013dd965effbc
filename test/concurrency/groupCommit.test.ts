// Batching of calls by GroupCommit, with commits that the test completes.
import { expect, test } from '@jest/globals';
import { GroupCommit } from '../../src/concurrency/groupCommit.ts';
import { waitFor } from '../support/waitFor.ts';

interface Batch {
  entries: string[];
  complete: () => void;
  fail: () => void;
}

/** A GroupCommit whose commits stay pending; entries are named `partition:name` or `partition:name:weight`. */
function createGroup(
  options: { entriesMax?: number; pipelineFrom?: number; weightMax?: number; heavyFrom?: number } = {},
) {
  const batches: Batch[] = [];
  const group = new GroupCommit<string, string>({
    partitionOf: (entry) => entry.split(':')[0] as string,
    weightOf: (entry) => Number(entry.split(':')[2] ?? 1),
    commit: (_, entries) =>
      new Promise((resolve, reject) => {
        batches.push({
          entries,
          complete: () => resolve(entries.map((entry) => ({ status: 'fulfilled', value: entry.toUpperCase() }))),
          fail: () => reject(new Error('no database')),
        });
      }),
    entriesMax: 500,
    ...options,
  });
  const add = (...entries: string[]) => entries.map((entry) => group.add(entry));
  const sizes = () => batches.map(({ entries }) => entries.length);
  return { batches, add, sizes, batch: (position: number) => batches[position] as Batch };
}

const many = (count: number, partition = 'a') => Array.from({ length: count }, (_, n) => `${partition}:${n}`);

test('a single call is committed immediately', () => {
  const { add, batches } = createGroup({ pipelineFrom: 4 });
  void add('a:1');
  expect(batches).toMatchObject([{ entries: ['a:1'] }]);
});

test('calls made during a commit form the next batch, in order, and each gets its own result', async () => {
  const { add, batch, sizes } = createGroup();
  const [first] = add('a:1');
  const others = add('a:2', 'a:3');
  expect(sizes()).toEqual([1]);
  batch(0).complete();
  expect(await first).toBe('A:1');
  await waitFor('the second batch', () => sizes().length === 2);
  expect(batch(1).entries).toEqual(['a:2', 'a:3']);
  batch(1).complete();
  expect(await Promise.all(others)).toEqual(['A:2', 'A:3']);
});

test('a caller that calls again after its result joins the next batch', async () => {
  const { add, batch, sizes } = createGroup();
  const again = add('a:1').map(async (called) => {
    await called;
    return add('a:3');
  });
  void add('a:2');
  batch(0).complete();
  await Promise.all(again);
  await waitFor('the second batch', () => sizes().length === 2);
  expect(batch(1).entries.toSorted()).toEqual(['a:2', 'a:3']);
});

test('a batch has at most entriesMax entries', async () => {
  const { add, batch, sizes } = createGroup({ entriesMax: 3 });
  void add(...many(8));
  for (const [position, size] of [1, 3, 3, 1].entries()) {
    await waitFor('a batch', () => sizes().length > position);
    expect(batch(position).entries).toHaveLength(size);
    batch(position).complete();
  }
});

test('a batch weighs at most weightMax, except for a single heavier entry', async () => {
  const { add, batch, sizes } = createGroup({ weightMax: 10 });
  void add('a:first', 'a:1:4', 'a:2:6', 'a:3:1', 'a:4:25', 'a:5:10', 'a:6:3');
  const expected = [['a:first'], ['a:1:4', 'a:2:6'], ['a:3:1'], ['a:4:25'], ['a:5:10'], ['a:6:3']];
  for (const [position, entries] of expected.entries()) {
    await waitFor('a batch', () => sizes().length > position);
    expect(batch(position).entries).toEqual(entries);
    batch(position).complete();
  }
});

test('light entries do not wait for heavy ones of their partition, which are committed one batch at a time', async () => {
  const { add, batch, batches, sizes } = createGroup({ weightMax: 10, heavyFrom: 8, pipelineFrom: 4 });
  const heavy = Array.from({ length: 20 }, (_, n) => `a:h${n}:9`);
  void add(...heavy);
  expect(batches.map(({ entries }) => entries)).toEqual([['a:h0:9']]);
  const [light] = add('a:light');
  // Committed while the heavy entry is in flight.
  expect(batch(1).entries).toEqual(['a:light']);
  batch(1).complete();
  expect(await light).toBe('A:LIGHT');
  batch(0).complete();
  await waitFor('the next heavy one', () => sizes().length === 3);
  expect(batch(2).entries).toEqual(['a:h1:9']);
  void add('a:again');
  expect(batch(3).entries).toEqual(['a:again']);
});

test('from pipelineFrom calls on, two batches are in flight, each with half of all calls', async () => {
  const { add, batch, sizes } = createGroup({ pipelineFrom: 10 });
  void add(...many(21));
  // The single first call, then half of ten as soon as there are ten.
  expect(sizes()).toEqual([1, 5]);
  batch(0).complete();
  await waitFor('the next', () => sizes().length === 3);
  expect(sizes()).toEqual([1, 5, 10]);
  void add(...many(4));
  batch(1).complete();
  // Nine wait while ten are in flight: half of all is more than nine.
  await new Promise(setImmediate);
  expect(sizes()).toEqual([1, 5, 10]);
  void add('a:last');
  expect(sizes()).toEqual([1, 5, 10, 10]);
});

test.each([8, 9, 33])(
  '%i callers that call again at once keep two batches in flight, also after one more call',
  async (count) => {
    const { add, batch, sizes } = createGroup({ pipelineFrom: 4 });
    let running = true;
    const call = async (name: string) => {
      while (running) await add(name)[0];
    };
    const callers = many(count).map(call);
    const inFlight: number[] = [];
    let completed = 0;
    const round = async () => {
      batch(completed).complete();
      completed += 1;
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      inFlight.push(sizes().length - completed);
    };
    for (let n = 0; n < 10; n += 1) await round();
    void add('a:visitor');
    for (let n = 0; n < 20; n += 1) await round();
    expect(inFlight.slice(-15)).toEqual(Array.from({ length: 15 }, () => 2));
    running = false;
    while (completed < sizes().length) await round();
    await Promise.all(callers);
  },
);

test('partitions neither share a batch nor wait for each other', () => {
  const { add, batches } = createGroup();
  void add('a:1', 'b:1', 'a:2');
  expect(batches.map(({ entries }) => entries)).toEqual([['a:1'], ['b:1']]);
});

test('a failed batch fails its own entries only, and its partition continues', async () => {
  const { add, batch, sizes } = createGroup();
  const [first] = add('a:1');
  const [second] = add('a:2');
  batch(0).fail();
  await expect(first).rejects.toThrow('no database');
  await waitFor('the next batch', () => sizes().length === 2);
  batch(1).complete();
  expect(await second).toBe('A:2');
});
