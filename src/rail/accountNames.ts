// Compares the account name in a request with the name that name enquiry returned: both may be spelled differently.
import { entryOf } from './fields.ts';

/** Titles are ignored. */
const TITLES = new Set(
  (
    'mr mrs ms miss master dr chief engr prof arc barr barrister hon alhaji alhaja mallam malam hajia hajiya sir lady ' +
    'rev pastor pst evang'
  ).split(' '),
);

/** Short forms in the names of businesses. */
const LONG_FORMS = {
  ltd: 'limited',
  nig: 'nigeria',
  co: 'company',
  coy: 'company',
  ent: 'enterprises',
  entr: 'enterprises',
  intl: 'international',
  '&': 'and',
};

/** Letters of Hausa and others that are no letter with an accent for Unicode. */
const PLAIN_LETTERS: Record<string, string> = {
  ɓ: 'b',
  ɗ: 'd',
  ƙ: 'k',
  ƴ: 'y',
  ŋ: 'n',
  ɛ: 'e',
  ɔ: 'o',
  ǝ: 'e',
  ß: 'ss',
};

const APOSTROPHES = /['’‘`ʼʻ´]/gu;
const JOINTS = /[-‐‑–.]/gu;

/** The sorted words of a name. ', - and . join or separate words: banks write O'BRIEN, O BRIEN and OBRIEN. */
function formsOf(name: string): string[] {
  const plain = name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[ɓɗƙƴŋɛɔǝß]/gu, (letter) => PLAIN_LETTERS[letter] ?? letter);
  return ['', ' '].flatMap((apostrophe) =>
    ['', ' '].map((joint) => sortedWords(plain.replaceAll(APOSTROPHES, apostrophe).replaceAll(JOINTS, joint))),
  );
}

function sortedWords(text: string): string {
  const all = text.split(/[^\p{L}\p{N}&]+/u).filter((word) => word !== '');
  const named = all.filter((word) => !TITLES.has(word));
  // A name may consist of what are titles elsewhere.
  return (named.length === 0 ? all : named)
    .map((word) => entryOf<string>(LONG_FORMS, word) ?? word)
    .toSorted()
    .join(' ');
}

/** Whether two names are equal, ignoring case, word order, punctuation, accents, titles and short forms. */
export function isSameName(given: string, resolved: string): boolean {
  const forms = new Set(formsOf(given));
  return formsOf(resolved).some((form) => form !== '' && forms.has(form));
}
