// The movement of a fee sweep of ₦500.00.
import { feeSweepMovement } from '../../../src/resources/feeSweeps/movements.ts';
import { BOOK, call, newId, OWNER, step } from '../movementTable.ts';

export const FEE_SWEEPS = [
  step({
    title: 'a fee sweep is a drawing of net income to the settlement wallet',
    call: call(
      feeSweepMovement,
      BOOK,
      { id: newId('feeSweep', 'sweep'), key: 'november', walletId: OWNER, amount: 50_000, createdAt: new Date() },
      'key:…',
    ),
    net: { 'own:drawings': -50_000, 'wallet:owner': 50_000 },
    transaction: 'fee_sweep sweep/sweep, enforced',
    rows: ['fee_sweeps: ', 'audit_log: fees.sweep of sweep'],
    events: ['wallet.credited'],
  }),
];
