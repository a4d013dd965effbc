// The rule of two persons as a table, and what is audited.
import { expect, test } from '@jest/globals';
import { auditEntries, decideApproval } from '../../src/workflows/operators/decide.ts';

const fail = { operator: 'svc_ngozi_opr', decision: 'fail', reason: 'the bank says so' };
const byTunde = { ...fail, operator: 'svc_tunde_opr', reason: 'I called them' };

test.each([
  ['what needs one operator is accepted', null, fail, false, 'accepted'],
  ['also while something else is proposed', { ...fail, decision: 'complete' }, fail, false, 'accepted'],
  ['what needs two is a proposal', null, fail, true, 'proposed'],
  ['repeated by the same operator it stays a proposal', fail, { ...fail, reason: 'really' }, true, 'proposed'],
  ['repeated by a second operator it is accepted', fail, byTunde, true, 'accepted'],
  [
    'another decision by a second operator is a new proposal',
    fail,
    { ...byTunde, decision: 'complete' },
    true,
    'proposed',
  ],
] as const)('%s', (_name, proposal, decided, needsTwo, expected) => {
  expect(decideApproval(proposal, decided, needsTwo)).toBe(expected);
});

test('the audit entries name both operators, each with the reason that they gave', () => {
  expect(auditEntries('resolve:fail', byTunde, fail)).toEqual([
    { operator: 'svc_ngozi_opr', action: 'resolve:fail:proposed', reason: 'the bank says so' },
    { operator: 'svc_tunde_opr', action: 'resolve:fail', reason: 'I called them' },
  ]);
  expect(auditEntries('resolve:retry', fail, null)).toEqual([
    { operator: 'svc_ngozi_opr', action: 'resolve:retry', reason: 'the bank says so' },
  ]);
});
