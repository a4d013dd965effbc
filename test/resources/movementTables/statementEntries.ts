// Movements of statement entries: what a rail did with our money by itself.
import { postEntry, type StatementEntry } from '../../../src/resources/statementEntries/movements.ts';
import { BOOK, call, type Step, step } from '../movementTable.ts';

const entry = (
  kind: StatementEntry['kind'],
  title: string,
  net: Record<string, number>,
  { rail = 'sandbox', reference = 'line-1' } = {},
): Step =>
  step({
    title,
    call: call(postEntry, BOOK, { rail, kind, reference, amount: 500, at: new Date() }),
    net,
    transaction: `rail_${kind} ${kind}/${rail}/${reference}, enforced`,
    rows: ['statement_entries: '],
  });

export const STATEMENT_ENTRIES = [
  entry('charge', 'a charge leaves the rail and is an expense', { 'clearing:sandbox': 500, 'expense:rail': -500 }),
  entry('charge_returned', 'a charge that is given back comes in at the rail, and is no expense any more', {
    'clearing:sandbox': -500,
    'expense:rail': 500,
  }),
  ...(['charge', 'charge_returned'] as const).flatMap((kind) => {
    const [taken, given] = kind === 'charge' ? [500, -500] : [-500, 500];
    return [
      entry(
        kind,
        `at a rail with two balances, the ${kind} of a transfer changes what pays out`,
        { 'float:monnify': taken, 'expense:rail': given },
        { rail: 'monnify', reference: 'sent:line-1' },
      ),
      entry(
        kind,
        `at a rail with two balances, the ${kind} of a credit changes what is collected`,
        { 'clearing:monnify': taken, 'expense:rail': given },
        { rail: 'monnify', reference: 'credit:line-1' },
      ),
    ];
  }),
  entry('check', 'a transfer of `rail check` leaves the rail and is an expense', {
    'clearing:sandbox': 500,
    'expense:rail': -500,
  }),
  entry('settlement', 'a settlement leaves the rail for our own bank account', {
    'clearing:sandbox': 500,
    'settlement:sandbox': -500,
  }),
  entry('interest', 'interest comes in at the rail and is income', {
    'clearing:sandbox': -500,
    'income:interest': 500,
  }),
  entry(
    'settled',
    'a settlement moves what is collected to what pays out',
    { 'clearing:monnify': 500, 'float:monnify': -500 },
    { rail: 'monnify' },
  ),
  entry(
    'funding',
    'money that the organisation pays in comes from its own bank account',
    { 'float:monnify': -500, 'settlement:monnify': 500 },
    { rail: 'monnify' },
  ),
];
