// Narrations in the characters that banks accept, and a provider's words without what must not be in a log.
import { LAGOS_OFFSET_MS } from '../times.ts';

/** NIP carries a narration of at most this many characters. */
const NARRATION_MAX = 100;
const WORDS_MAX = 200;

/** Letters without accents, digits, spaces and `.,/-`; all else becomes a space. `otherwise`: nothing is left. */
export function narrationOf(text: string | null, otherwise: string): string {
  const plain = (text ?? '').normalize('NFD').replaceAll(/\p{M}/gu, '');
  const narration = plain
    .replaceAll(/[^A-Za-z0-9 .,/-]+/g, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
    .slice(0, NARRATION_MAX)
    .trimEnd();
  return narration === '' ? otherwise : narration;
}

/**
 * What a provider said, for operators: on one line, cut, and without runs of digits, which may be account numbers and
 * identity numbers, and without long words, which may be keys. Null: it said nothing.
 */
export function safeMessage(text: string | null): string | null {
  const words = (text ?? '')
    .replaceAll(/[^\P{C}\t\n]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\d(?:[ -]?\d){5,}/g, '***')
    .replaceAll(/[A-Za-z0-9_=+/.-]{24,}/g, '***') // such as a key or a token
    .trim()
    .slice(0, WORDS_MAX)
    .toWellFormed();
  return words === '' ? null : words;
}

/** Words of which a text may consist that only repeats a status, whichever it is, and so says of no failure why. */
const STATUS_WORDS = new Set(
  (
    'transaction transactions transfer transfers request payment is was has been being in by or and the your still ' +
    'success successful successfully succeeded ok 00 null none approved completed processed processing progress ' +
    'pending queued initiated accepted received awaiting authorization failed failure reversed reversal refund ' +
    'refunded returned expired'
  ).split(' '),
);

/** The words of a provider as the reason of a failure; null: they are none. */
export function reasonOf(text: string | null): string | null {
  const words = safeMessage(text);
  const said = (words ?? '').toLowerCase().split(/[^a-z0-9]+/);
  return said.every((word) => word === '' || STATUS_WORDS.has(word)) ? null : words;
}

/** `yyyy-MM-dd HH:mm:ss` in Lagos. A part of a second is rounded up. */
export function lagosText(time: Date): string {
  const seconds = Math.ceil(time.getTime() / 1_000) * 1_000;
  return new Date(seconds + LAGOS_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** An account number in full; null when the provider masks it or sends none. */
export const fullAccountNumber = (text: string | null | undefined): string | null =>
  /^[0-9]{10}$/.test(text ?? '') ? (text as string) : null;
