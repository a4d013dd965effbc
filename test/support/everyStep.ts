// The recordings of fewer scenarios that together run every step of every flow.
export const EVERY_STEP = [
  'payment-lateCredit',
  'payment-unconfirmedSetAside',
  'inboundCredit-unconfirmedSetAside',
  'withdrawal-neverReceived',
  'withdrawal-failedByOperators',
  'refund-neverReceived',
  'refund-completedByOperators',
  'payout-partiallyCompleted',
  'payoutItem-neverReceived',
  'payoutItem-failedByOperators',
  'reviewCase-neverReceivedThenUnclaimed',
  'reviewCase-failedByOperatorsThenCredited',
  'hold-refusedThenCancelled',
  'adjustment-reversal',
  'recall-unconfirmedSetAside',
];
