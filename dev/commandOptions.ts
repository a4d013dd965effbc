// Options that the commands chaos, drill and soak share.
import { randomInt } from 'node:crypto';
import { InvalidArgumentError } from 'commander';

/** A seed that was not given. */
export const randomSeed = (): number => randomInt(2 ** 31);

/** The parser of an option that is a positive whole number. */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}
