// Why a transfer failed, by the words of each rail: one code and our own sentence, for all rails alike. Words no
// code has are kept beside it, and words that only repeat a status are never a reason.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { explainFailure, type FailureWords, NIP_WORDS, RAIL_FAILURES } from '../../src/rail/failures.ts';
import { FAILURES as MONNIFY } from '../../src/rail/monnify/outcomes.ts';
import { FAILURES as NOMBA } from '../../src/rail/nomba/outcomes.ts';

const RAILS: [string, FailureWords][] = [
  ['monnify', MONNIFY],
  ['nomba', NOMBA],
  ['sandbox', NIP_WORDS],
];

describe.each(RAILS)('%s', (_rail, words) => {
  test.each(Object.entries(words))('"%s" is %s', (said, code) => {
    for (const written of [said, `${said}.`, ` ${said.toUpperCase()}! `, said.replaceAll(' ', '_')]) {
      for (const change of ['fail', 'return'] as const) {
        expect(explainFailure(change, written, words)).toEqual({ code, reason: RAIL_FAILURES[code], detail: null });
      }
    }
  });

  test.each([
    ['fail', 'bank_refused'],
    ['return', 'bank_returned'],
  ] as const)('other words are kept as the detail of a %s', (change, code) => {
    for (const said of ['Insufficient mandate', 'constructor', 'BENEFICIARY IS DECEASED'])
      expect(explainFailure(change, said, words)).toEqual({ code, reason: RAIL_FAILURES[code], detail: said });
    expect(explainFailure(change, null, words)).toEqual({ code, reason: RAIL_FAILURES[code], detail: null });
  });

  test('words that only repeat a status are no reason, in whatever order and case', () => {
    const status = fc.constantFrom(
      'SUCCESS',
      'in progress',
      'Pending',
      'completed',
      'PROCESSING',
      'reversed',
      'failed',
      '00',
    );
    const subject = fc.constantFrom('Transaction', 'Your transfer is', 'The payment was', 'request', '');
    fc.assert(
      fc.property(subject, status, fc.constantFrom('', '.', '!'), (who, what, end) => {
        const said = `${who} ${what}${end}`.trim();
        for (const change of ['fail', 'return'] as const) {
          const { reason, detail } = explainFailure(change, said, words);
          expect([detail, reason.toLowerCase().includes(what.toLowerCase())]).toEqual([null, false]);
        }
      }),
    );
  });

  test('every sentence says why, and no account number gets into a detail', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (said) => {
        const { code, reason, detail } = explainFailure('fail', `${said} 0123456789`, words);
        expect(reason).toBe(RAIL_FAILURES[code]);
        expect(detail ?? '').not.toContain('0123456789');
      }),
    );
  });
});

test('the documented messages of Monnify have their codes', () => {
  expect(MONNIFY).toMatchObject({
    'invalid destination account number': 'account_not_resolved',
    'dormant beneficiary account': 'account_dormant',
    'beneficiary account name mismatch': 'name_mismatch',
    'post no credit restriction on beneficiary account': 'account_restricted',
    'beneficiary account limit exceeded': 'account_limit_exceeded',
    'beneficiary bank not available': 'bank_unavailable',
    'suspected fraud': 'suspected_fraud',
  });
});
