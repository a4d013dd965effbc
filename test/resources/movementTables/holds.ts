// Movements of a hold of ₦500.00 that a transfer has made: released in two parts, or given back.
import { WALLET_FEE } from '../../../src/ledger/fees.ts';
import {
  cancelHold,
  cancelledHold,
  newHold,
  releasedHold,
  releaseHold,
} from '../../../src/resources/holds/movements.ts';
import type { Hold } from '../../../src/resources/holds/queries.ts';
import { transferMovement } from '../../../src/resources/transfers/movements.ts';
import { BOOK, call, newId, OTHER, OWNER, RETURN_CASES, rowAfter, step } from '../movementTable.ts';

const transferId = newId('transfer', 'transfer');
const wallets = { sourceWalletId: OWNER, walletId: OTHER };
const HOLD: Hold = {
  ...newHold({ ...wallets, transferId, amount: 50_000, releaseAt: null, createdAt: new Date() }),
  id: newId('hold', 'hold'),
};

const HELD = step({
  title: 'a transfer with a hold credits the account beside the destination, and starts the flow of the hold',
  call: call(
    transferMovement,
    BOOK,
    {
      id: transferId,
      sourceWalletId: OWNER,
      destinationWalletId: OTHER,
      holdId: HOLD.id,
      amount: 50_000,
      fee: WALLET_FEE,
      status: 'completed',
      description: null,
      reference: null,
      metadata: null,
      createdAt: new Date(),
    },
    HOLD,
  ),
  net: { 'wallet:owner': -50_000, 'held:wallet:other': 50_000 },
  transaction: 'transfer transfer/transfer, enforced',
  rows: ['transfers: completed', 'holds: held, version 1, released 0, cancelled 0'],
  events: ['transfer.completed', 'hold.created'],
  outbox: ['hold: start'],
});

const release = (hold: Hold, amount: number) => call(releaseHold, BOOK, hold, releasedHold(hold, amount));

const RELEASED_IN_PART = step({
  title: 'a part of a hold is released',
  after: HELD,
  call: release(rowAfter(HELD, 'holds'), 20_000),
  net: { 'held:wallet:other': -20_000, 'wallet:other': 20_000 },
  transaction: 'hold_release hold/release/2, enforced',
  rows: ['holds: held, version 2, released 20000, cancelled 0'],
  events: ['hold.released'],
});

export const HOLDS = [
  HELD,
  RELEASED_IN_PART,
  step({
    title: 'the rest of a hold is released, which ends it',
    after: RELEASED_IN_PART,
    call: release(rowAfter(RELEASED_IN_PART, 'holds'), 30_000),
    net: { 'held:wallet:other': -30_000, 'wallet:other': 30_000 },
    transaction: 'hold_release hold/release/3, enforced',
    rows: ['holds: released, version 3, released 50000, cancelled 0'],
    events: ['hold.released'],
  }),
  ...RETURN_CASES.map(([wallet, refusal]) =>
    step({
      title: `the rest of a hold goes back to a wallet that is ${wallet}`,
      after: RELEASED_IN_PART,
      call: call(cancelHold, BOOK, cancelledHold(rowAfter(RELEASED_IN_PART, 'holds')), refusal),
      net: { 'held:wallet:other': -30_000, [refusal === null ? 'wallet:owner' : 'suspense:unmatched']: 30_000 },
      transaction: 'hold_cancellation hold/cancellation, credit_exempt',
      rows: [
        'holds: cancelled, version 3, released 20000, cancelled 30000',
        ...(refusal === null ? [] : [`review_cases: open, version 1, ${refusal} of 30000 in suspense:unmatched`]),
      ],
      events: ['hold.cancelled', ...(refusal === null ? [] : ['review_case.opened'])],
      outbox: refusal === null ? [] : ['reviewCase: start'],
    }),
  ),
];
