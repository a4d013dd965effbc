// Movements of a transfer of ₦500.00 between two wallets, without a hold.
import { transferMovement } from '../../../src/resources/transfers/movements.ts';
import { BOOK, call, newId, OTHER, OWNER, step } from '../movementTable.ts';

export const TRANSFERS = [
  step({
    title: 'a transfer moves the amount from wallet to wallet, without a fee',
    call: call(transferMovement, BOOK, {
      id: newId('transfer', 'transfer'),
      sourceWalletId: OWNER,
      destinationWalletId: OTHER,
      holdId: null,
      amount: 50_000,
      fee: 0,
      status: 'completed',
      description: null,
      reference: null,
      metadata: null,
      createdAt: new Date(),
    }),
    net: { 'wallet:owner': -50_000, 'wallet:other': 50_000 },
    transaction: 'transfer transfer/transfer, enforced',
    rows: ['transfers: completed'],
    events: ['transfer.completed'],
  }),
];
