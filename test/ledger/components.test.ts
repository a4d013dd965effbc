// Which part of a transaction each posting is, by the movements that make them.
import { expect, test } from '@jest/globals';
import { componentOf } from '../../src/ledger/components.ts';
import { pathOf, type Step } from '../resources/movementTable.ts';
import { BY_RESOURCE } from '../resources/movementTables/all.ts';

/** The postings of the movement with this title: the account of each side, and its component. */
function componentsOf(title: string): string[] {
  const made = Object.values(BY_RESOURCE)
    .flat()
    .find((step: Step) => step.title === title);
  if (made === undefined) throw new Error(`no movement is called: ${title}`);
  const { transaction } = pathOf(made).at(-1)?.movement ?? {};
  return (transaction?.postings ?? []).map(({ debit, credit, amount }, index, { length }) =>
    [componentOf({ kind: transaction?.kind ?? '', place: index + 1, count: length, debit, credit }), amount].join(' '),
  );
}

test.each([
  ['an accepted withdrawal moves amount and fee from the wallet into transit', ['principal 100000', 'fee 3000']],
  [
    'a withdrawal that the bank has paid leaves through clearing, and its fee is income',
    ['principal 100000', 'fee 3000'],
  ],
  [
    'an accepted payout moves all amounts and fees from the wallet into its reserve',
    ['principal 100000', 'principal 50000', 'fee 5500'],
  ],
  ['a transfer moves the amount from wallet to wallet, without a fee', ['principal 50000']],
  [
    'the exact amount settles a payment: the wallet gets the base amount, the service its fee',
    ['principal 200000', 'fee 2000'],
  ],
])('%s: %j', (title, expected) => {
  expect(componentsOf(title)).toEqual(expected);
});

test.each([
  ['withdrawal_failure', 'in_transit:withdrawals', 'wallet:owner', 'total'],
  ['withdrawal_return', 'clearing:sandbox', 'wallet:owner', 'principal'],
  ['withdrawal_return', 'income:fees', 'wallet:owner', 'fee'],
  ['payout_item_refusal', 'reserve:payout:x', 'wallet:owner', 'total'],
  ['payout_item_return', 'clearing:sandbox', 'wallet:owner', 'principal'],
  ['fee_sweep', 'income:fees', 'wallet:settlement', 'principal'],
])('%s from %s to %s is the %s', (kind, debit, credit, component) => {
  expect(componentOf({ kind, place: 1, count: 1, debit, credit })).toBe(component);
});
