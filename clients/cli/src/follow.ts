// Follows a list of the API, newest first, as it grows: reads what is newer than the last reading, every second. Items
// can appear a little after others with a later time, so each reading overlaps the one before, and what was seen is
// left out by its id.
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage } from './failure.ts';

/** How far back each reading goes before the newest item: far longer than a movement takes to commit. */
export const OVERLAP_MS = 30_000;
/** Sixty requests a minute, of the six hundred that a key has by default. */
const POLL_MS = 1_000;
const OUTAGE_POLL_MS = 3_000;

/** The identity and the time of an item. */
export interface Place {
  id: string;
  createdAt: string;
}

export interface Position {
  /** The time of the newest item, in milliseconds; null before the first. */
  newest: number | null;
  /** The ids of the overlap, with their times. */
  seen: ReadonlyMap<string, number>;
}

export const START: Position = { newest: null, seen: new Map() };

/** The items that are new at a position, oldest first, and the position after them. Pure. */
export function advance<Item>(
  position: Position,
  items: readonly Item[],
  placeOf: (item: Item) => Place,
): { fresh: Item[]; position: Position } {
  const places = items.map((item) => {
    const { id, createdAt } = placeOf(item);
    return { item, id, at: Date.parse(createdAt) };
  });
  const fresh = places
    .filter(({ id }) => !position.seen.has(id))
    .toSorted((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1));
  const newest = places.reduce((latest, { at }) => Math.max(latest, at), position.newest ?? 0);
  const all = [...position.seen, ...fresh.map(({ id, at }) => [id, at] as const)];
  const seen = new Map(all.filter(([, at]) => at >= newest - OVERLAP_MS));
  return { fresh: fresh.map(({ item }) => item), position: { newest: newest === 0 ? null : newest, seen } };
}

/** Where the next reading begins, as `createdAtFrom`; undefined for the whole list. */
export const readFrom = ({ newest }: Position): string | undefined =>
  newest === null ? undefined : new Date(newest - OVERLAP_MS).toISOString();

/**
 * The latest items of a list that is read newest first: all of the overlap, and beyond it until `wanted` of them match.
 * Reads at most `ITEMS_MAX`.
 */
export async function readLatest<Item>(
  items: AsyncIterable<Item>,
  placeOf: (item: Item) => Place,
  matches: (item: Item) => boolean,
  wanted: number,
): Promise<Item[]> {
  const latest: Item[] = [];
  let newest: number | null = null;
  let matching = 0;
  for await (const item of items) {
    const at = Date.parse(placeOf(item).createdAt);
    newest ??= at;
    if (latest.length >= ITEMS_MAX || (matching >= wanted && at < newest - OVERLAP_MS)) break;
    latest.push(item);
    if (matches(item)) matching += 1;
  }
  return latest;
}

const ITEMS_MAX = 5_000;

interface Following<Item> {
  /** The items since a time, of every page, in any order. */
  read: (createdAtFrom: string | undefined) => AsyncIterable<Item>;
  placeOf: (item: Item) => Place;
  /** Where to go on from. */
  position: Position;
  /** Ends the following. */
  signal: AbortSignal;
  onOutage: (fault: unknown) => void;
  onRecovery: () => void;
}

/**
 * Yields new items, oldest first, until the signal. An outage of the API, which is printed once, is waited out: what came
 * meanwhile follows after it. Throws what no waiting changes, such as a revoked key.
 */
export async function* follow<Item>(following: Following<Item>): AsyncGenerator<Item> {
  const { read, placeOf, signal, onOutage, onRecovery } = following;
  let { position } = following;
  let isOut = false;
  while (!signal.aborted) {
    try {
      const items = await Array.fromAsync(read(readFrom(position)));
      if (isOut) onRecovery();
      isOut = false;
      const step = advance(position, items, placeOf);
      for (const item of step.fresh) {
        if (signal.aborted) return;
        yield item;
      }
      position = step.position;
    } catch (fault) {
      if (signal.aborted) return;
      if (!isOutage(fault)) throw fault;
      if (!isOut) onOutage(fault);
      isOut = true;
    }
    await pause(isOut ? OUTAGE_POLL_MS : POLL_MS, signal);
  }
}

/** Waits, or less long when the signal comes. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {}); // the signal: the caller looks at it
}
