// Compares the account name in a request with the name that name enquiry returned: both may be spelled differently.

/** Titles are ignored. */
const TITLES = new Set('mr mrs ms miss dr chief engr prof alhaji alhaja sir rev pastor'.split(' '));

function wordsOf(name: string): string[] {
  return name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !TITLES.has(word))
    .toSorted();
}

/** Whether two names are equal, ignoring case, word order, punctuation, accents and titles. */
export function isSameName(given: string, resolved: string): boolean {
  return wordsOf(given).join(' ') === wordsOf(resolved).join(' ');
}
