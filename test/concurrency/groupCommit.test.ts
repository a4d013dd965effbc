// How calls are gathered into batches, with a commit that is answered when the test says so.
import { expect, test } from '@jest/globals';
import { GroupCommit } from '../../src/concurrency/groupCommit.ts';
import { waitFor } from '../support/waitFor.ts';

interface Batch {
  entries: string[];
  answer: () => void;
  fail: () => void;
}

/** A group whose batches wait for an answer; entries are named `lane:name`, or `lane:name:weight`. */
function gathering(
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
          answer: () => resolve(entries.map((entry) => ({ status: 'fulfilled', value: entry.toUpperCase() }))),
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

const many = (count: number, lane = 'a') => Array.from({ length: count }, (_, n) => `${lane}:${n}`);

test('a lone caller is sent at once', () => {
  const { add, batches } = gathering({ pipelineFrom: 4 });
  void add('a:1');
  expect(batches).toMatchObject([{ entries: ['a:1'] }]);
});

test('those who come meanwhile share the next batch, in order, and each hears of its own', async () => {
  const { add, batch, sizes } = gathering();
  const [first] = add('a:1');
  const others = add('a:2', 'a:3');
  expect(sizes()).toEqual([1]);
  batch(0).answer();
  expect(await first).toBe('A:1');
  await waitFor('the second batch', () => sizes().length === 2);
  expect(batch(1).entries).toEqual(['a:2', 'a:3']);
  batch(1).answer();
  expect(await Promise.all(others)).toEqual(['A:2', 'A:3']);
});

test('whoever was answered and calls again at once is in the next batch with those who waited', async () => {
  const { add, batch, sizes } = gathering();
  const again = add('a:1').map(async (called) => {
    await called;
    return add('a:3');
  });
  void add('a:2');
  batch(0).answer();
  await Promise.all(again);
  await waitFor('the second batch', () => sizes().length === 2);
  expect(batch(1).entries.toSorted()).toEqual(['a:2', 'a:3']);
});

test('no batch is larger than entriesMax', async () => {
  const { add, batch, sizes } = gathering({ entriesMax: 3 });
  void add(...many(8));
  for (const [position, size] of [1, 3, 3, 1].entries()) {
    await waitFor('a batch', () => sizes().length > position);
    expect(batch(position).entries).toHaveLength(size);
    batch(position).answer();
  }
});

test('no batch is heavier than weightMax, but for an entry that is so by itself', async () => {
  const { add, batch, sizes } = gathering({ weightMax: 10 });
  void add('a:first', 'a:1:4', 'a:2:6', 'a:3:1', 'a:4:25', 'a:5:10', 'a:6:3');
  const expected = [['a:first'], ['a:1:4', 'a:2:6'], ['a:3:1'], ['a:4:25'], ['a:5:10'], ['a:6:3']];
  for (const [position, entries] of expected.entries()) {
    await waitFor('a batch', () => sizes().length > position);
    expect(batch(position).entries).toEqual(entries);
    batch(position).answer();
  }
});

test('light entries do not wait for the heavy ones of their lane, which go one batch at a time', async () => {
  const { add, batch, batches, sizes } = gathering({ weightMax: 10, heavyFrom: 8, pipelineFrom: 4 });
  const heavy = Array.from({ length: 20 }, (_, n) => `a:h${n}:9`);
  void add(...heavy);
  expect(batches.map(({ entries }) => entries)).toEqual([['a:h0:9']]);
  const [light] = add('a:light');
  expect(batch(1).entries).toEqual(['a:light']); // beside the heavy one
  batch(1).answer();
  expect(await light).toBe('A:LIGHT');
  batch(0).answer();
  await waitFor('the next heavy one', () => sizes().length === 3);
  expect(batch(2).entries).toEqual(['a:h1:9']);
  void add('a:again');
  expect(batch(3).entries).toEqual(['a:again']);
});

test('from pipelineFrom on there are two batches under way, of half of everybody each', async () => {
  const { add, batch, sizes } = gathering({ pipelineFrom: 10 });
  void add(...many(21));
  expect(sizes()).toEqual([1, 5]); // the lone first, then half of ten as soon as there are ten
  batch(0).answer();
  await waitFor('the next', () => sizes().length === 3);
  expect(sizes()).toEqual([1, 5, 10]);
  void add(...many(4));
  batch(1).answer();
  // Nine wait, but ten are under way: half of everybody is more.
  await new Promise(setImmediate);
  expect(sizes()).toEqual([1, 5, 10]);
  void add('a:last');
  expect(sizes()).toEqual([1, 5, 10, 10]);
});

test('lanes neither share a batch nor wait for each other', () => {
  const { add, batches } = gathering();
  void add('a:1', 'b:1', 'a:2');
  expect(batches.map(({ entries }) => entries)).toEqual([['a:1'], ['b:1']]);
});

test('a batch that fails fails its own entries only, and the lane goes on', async () => {
  const { add, batch, sizes } = gathering();
  const [first] = add('a:1');
  const [second] = add('a:2');
  batch(0).fail();
  await expect(first).rejects.toThrow('no database');
  await waitFor('the next batch', () => sizes().length === 2);
  batch(1).answer();
  expect(await second).toBe('A:2');
});
