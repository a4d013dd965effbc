// Responses of providers with one field changed, for tests that such a field makes an outcome unknown, or nothing else.
import { koboOf } from '../../src/rail/fields.ts';

/** All trees in which one field is missing, null or of another type. */
export function* mutations(tree: unknown): Generator<{ what: string; value: unknown }> {
  for (const path of pathsOf(tree)) {
    for (const [name, change] of CHANGES) {
      if (change === '7' && isNumber(at(tree, path))) continue; // a number already
      yield { what: `${path.join('.')} ${name}`, value: changed(tree, path, change) };
    }
  }
}

const MISSING = Symbol('missing');
const CHANGES: readonly (readonly [string, unknown])[] = [
  ['is missing', MISSING],
  ['is null', null],
  ['is an empty text', ''],
  ['is a text', 'other'],
  ['is a number', '7'], // as the client reads numbers
  ['is negative', '-7.00'],
  ['is no exact amount', '2500.001'],
  ['is true', true],
  ['is false', false],
  ['is an object', {}],
  ['is an array', []],
];

function pathsOf(tree: unknown, path: readonly string[] = []): string[][] {
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([key, value]) => [[...path, key], ...pathsOf(value, [...path, key])]);
}

const at = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce((value, key) => (value as Record<string, unknown>)[key], tree);

const isNumber = (value: unknown): boolean => typeof value === 'string' && koboOf(value) !== null;

function changed(tree: unknown, [key = '', ...rest]: readonly string[], change: unknown): unknown {
  const copy: Record<string, unknown> = Array.isArray(tree) ? ([...tree] as never) : { ...(tree as object) };
  if (rest.length > 0) copy[key] = changed(copy[key], rest, change);
  else if (change === MISSING) delete copy[key];
  else copy[key] = change;
  return copy;
}
