// Why a bank did not pay a transfer, or sent it back, in our words. Each rail maps the words of its provider to a code
// of this list (`BankRail.failures`); words that it does not have stay the provider's, as the detail of the failure.
import { entryOf } from './fields.ts';
import { reasonOf } from './texts.ts';

/** The codes, and what each says to people. */
export const RAIL_FAILURES = {
  account_not_resolved: 'The bank has no such account',
  name_mismatch: 'The bank has the account under another name',
  account_dormant: 'The account is dormant',
  account_closed: 'The account is closed',
  account_restricted: 'The account may not receive this money',
  account_limit_exceeded: 'The account would exceed a limit of its bank',
  bank_unavailable: 'The receiving bank was not available',
  suspected_fraud: 'The bank suspects fraud',
  bank_refused: 'The receiving bank rejected the transfer',
  bank_returned: 'The receiving bank returned the money',
} as const;
export type RailFailureCode = keyof typeof RAIL_FAILURES;

/** What the words of a provider mean, in lower case and without full stop. */
export type FailureWords = Readonly<Record<string, RailFailureCode>>;

/** The response texts of NIBSS NIP, which banks and providers pass on. */
export const NIP_WORDS: FailureWords = {
  'dormant account': 'account_dormant',
  'invalid account': 'account_not_resolved',
  'unknown bank code': 'account_not_resolved',
  'account name mismatch': 'name_mismatch',
  'account closed': 'account_closed',
  'transaction not permitted to sender': 'account_restricted',
  'post no credit': 'account_restricted',
  'transfer limit exceeded': 'account_limit_exceeded',
  'suspected fraud': 'suspected_fraud',
  'beneficiary bank not available': 'bank_unavailable',
  'timeout waiting for response from destination': 'bank_unavailable',
  'routing error': 'bank_unavailable',
};

/** The codes that NIP has words for, each with the first of them. */
export const NIP_WORDS_OF = Object.fromEntries(
  Object.entries(NIP_WORDS)
    .toReversed()
    .map(([words, code]) => [code, words]),
) as Partial<Record<RailFailureCode, string>>;

/** The words of a provider as tables have them. */
export const keyOf = (words: string): string =>
  words
    .trim()
    .replace(/[.!]+$/, '')
    .replaceAll(/[\s_]+/g, ' ')
    .toLowerCase();

/** Why a transfer failed, by the provider's words. `detail`: those words, if they say why and no code has them. */
export function explainFailure(change: 'fail' | 'return', words: string | null, known: FailureWords) {
  const inGeneral = change === 'return' ? 'bank_returned' : 'bank_refused';
  const found = entryOf<RailFailureCode>(known, keyOf(words ?? ''));
  const code: RailFailureCode = found ?? inGeneral;
  const reason = RAIL_FAILURES[code];
  return { code, reason, detail: found === undefined && words !== reason ? reasonOf(words) : null };
}
