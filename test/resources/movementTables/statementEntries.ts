// Movements of statement entries: what a rail did with our money by itself.
import { postEntry } from '../../../src/resources/statementEntries/movements.ts';
import { BOOK, call, type Step, step } from '../movementTable.ts';

const entry = (
  kind: 'charge' | 'settlement' | 'interest' | 'check',
  title: string,
  net: Record<string, number>,
): Step =>
  step({
    title,
    call: call(postEntry, BOOK, { rail: 'sandbox', kind, reference: 'line-1', amount: 500, at: new Date() }),
    net,
    transaction: `rail_${kind} ${kind}/sandbox/line-1, enforced`,
    rows: ['statement_entries: '],
  });

export const STATEMENT_ENTRIES = [
  entry('charge', 'a charge leaves the rail and is an expense', { 'clearing:sandbox': 500, 'expense:rail': -500 }),
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
];
