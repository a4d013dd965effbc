// Comparing the name a caller gave with the name the bank has. Banks and people write the same name in different ways.

/** Titles that a name may carry or not. */
const TITLES = new Set([
  'mr',
  'mrs',
  'ms',
  'miss',
  'dr',
  'chief',
  'engr',
  'prof',
  'alhaji',
  'alhaja',
  'sir',
  'rev',
  'pastor',
]);

function wordsOf(name: string): string[] {
  return name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !TITLES.has(word))
    .toSorted();
}

/** Whether two names are the same but for case, order, punctuation, accents and titles. */
export function isSameName(given: string, resolved: string): boolean {
  return wordsOf(given).join(' ') === wordsOf(resolved).join(' ');
}
