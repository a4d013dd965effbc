// What the reference says of each operation below its summary: what follows from it, and what a reader looks for next.
// The contract (docs/contract.md) has the rules in full.

/** By operationId. */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  getHealth: 'Whether this environment can serve: 200, or 503 with the part that is down. Needs no key.',
  createWallet:
    'For one of your customers. A new wallet has `kycStatus` `none`: it cannot hold money or show a balance until ' +
    '`submitKyc`. Settlement wallets are made by the service.',
  listWallets: 'Find a wallet by your own id with `externalReference`, or by `email`.',
  getWallet: '`amountOwed` is what the wallet still owes after the bank took money back.',
  updateWallet: 'Only what is sent changes. Identity details are changed with `submitKyc`.',
  submitKyc:
    'The wallet becomes `tier1`, or the `tier` that is sent: it can hold and move money within the limits of that tier. ' +
    'The details are stored encrypted and are not verified.',
  getWalletBalance:
    'The sum of all entries of the wallet. With `at`, the balance as of that time, the movement of that millisecond ' +
    'included. 422 below tier1.',
  getWalletLimits: 'Those of its tier. Nothing that comes back (a failed withdrawal, a cancelled hold) is used.',
  getDepositAccount:
    'Anyone may pay into this account number, at any time. It is opened by the first request and stays the same.',
  listWalletDeposits: 'What was paid into the permanent account number: who sent it, when, and what became of it.',
  listWalletTransactions:
    'Each line has the balance after it, what it was for and the other side. As CSV: `Accept: text/csv`.',
  getTransaction: 'One business event as double-entry postings, by the id of a line of a statement.',
  createTransfer:
    'Between two wallets of yours. Final at once: 201 means that the money has moved. With `hold` it is in the ' +
    '`heldBalance` of the destination until its hold is released: at `releaseAt`, or `release`: `manual`.',
  listTransfers:
    'By wallet, or by your `reference`. By `destinationWalletId` only those whose money it has got at once: list its holds ' +
    'for the others.',
  getTransfer: 'A transfer never changes after it was made.',
  releaseHold:
    'All of it, or `amount`. Under the rules of the wallet: a frozen or full one refuses, and the hold stays.',
  cancelHold:
    'All that is still held. What was released stays with the wallet. Of a payment it is refunded to who paid, which ' +
    'needs the scope `payment` too.',
  listHolds: 'Of a wallet or payment, or all that are still `held`.',
  getHold: '`amountHeld` is what can still be released or cancelled.',
  payFromWallet: 'Settles a pending payment of method `virtual_wallet` with the money of this wallet, at once.',
  createWithdrawal:
    '201 means accepted: amount and fee have left the wallet. The end comes as `withdrawal.completed`, ' +
    '`withdrawal.failed` or `withdrawal.returned`; after the last two everything is back. An `accountName` is compared ' +
    'with the name at the bank first.',
  listWithdrawals: 'By wallet, status, or your `reference`.',
  getWithdrawal: '`processing` is not paid yet. `failureCode` says why it failed or came back.',
  createPayment:
    'With `bank_transfer` the answer has an account number for this payment alone, and `checkoutUrl`, a page to send ' +
    'the payer to. Deliver when `payment.completed` arrives. Without full payment by `expiresAt` it expires. ' +
    '`splits` go to other wallets, together with the rest for the target. With `hold` the money is in a `heldBalance` ' +
    'until its hold is released.',
  createSplitTemplate: 'For `splitTemplateId` of a payment. It never changes: save another instead.',
  listSplitTemplates: 'All that were saved.',
  getSplitTemplate: 'The wallets, and the amount or share of each.',
  cancelPayment:
    'While it is `pending`. Its account number closes; money that comes for it all the same goes to review, or back by ' +
    '`onMismatch`. Cancelling it again changes nothing.',
  listPayments: 'By status, wallet, account number, or your `reference`.',
  getPayment:
    '`amountReceived` is what has come and counts, `amountInReview` what has come and waits for a decision: ask the ' +
    'payer for nothing more while it does.',
  listPaymentCredits: 'Each transfer that came for it: sender, session id, time, and where the money went.',
  refundPayment:
    'All, or a part of it, to the account or wallet that paid, from each wallet in proportion. Where that is not known, name a `bankAccount`. The end ' +
    'comes as `refund.completed` or `refund.failed`. The fee is kept.',
  getRefund: 'After `failed` the money is back in the wallet.',
  listPaymentRefunds: 'Together they never exceed what the payment brought.',
  listRefunds: 'Of all payments: by status, destination, or your `reference`.',
  createPayout:
    '202 means that the whole batch is checked and reserved. Items succeed and fail one by one, each with an event; ' +
    '`payout.completed`, `payout.partially_completed` or `payout.failed` ends it. The body may be a CSV file.',
  listPayouts: 'By status, wallet, or your `reference`. With their items, but not as CSV.',
  getPayout: 'With all items, and how many have succeeded and failed.',
  listPayoutItems: 'For a large payout: find the failed ones with `status=failed`.',
  validatePayout: 'The same checks as a payout, account names included, and what it would cost. Reserves nothing.',
  createWebhookEndpoint:
    'Events are signed with the `secret` of the response, which is shown this once. Without `eventTypes` it gets all.',
  listWebhookEndpoints: 'Secrets are not shown.',
  getWebhookEndpoint: 'Its address, its event types, and whether it is enabled.',
  updateWebhookEndpoint: 'Disable it to pause deliveries; what it missed can be sent with `redeliverToEndpoint`.',
  deleteWebhookEndpoint: 'Deliveries to it end.',
  rotateWebhookSecret: 'For a day events are signed with both secrets, so that no delivery is refused meanwhile.',
  sendTestEvent: 'To see that the address is reached and the signature is verified. It moves nothing.',
  listFailedDeliveries: 'Events that were given up after all attempts, with the last response.',
  redeliverToEndpoint: 'After an outage of yours: every event since `since` that it has not received.',
  listReviewCases:
    'Received money that waits for a decision: late, too much, over a limit, or for a frozen wallet. Find those of a ' +
    'payment with `paymentId`.',
  getReviewCase: '`actions` are what this key may decide now.',
  resolveReviewCase: 'Credit it, send it back to its sender, or set it aside. Large amounts need two operators.',
  listEvents: 'To catch up after an outage, read `order=asc` from your last cursor.',
  getEvent: 'As it was delivered. Apply it only if its `sequence` is higher than the last one of the resource.',
  listEventDeliveries: 'To which endpoints it went, each attempt, and when the next one is due.',
  redeliverEvent: 'With the same `webhook-id`, so that a receiver which has it can ignore it.',
  createApiKey:
    'The key is shown this once. It has no scope that its maker lacks, shares its rate limit, and ends with it.',
  listApiKeys: 'Those that can be used and those that have ended. No key is shown, only its beginning.',
  getApiKey: 'Its scopes, who made it, when it was last used, and when it ends.',
  revokeApiKey: 'At once, with every key that was made by it.',
  rotateApiKey: 'The old key works on for `overlapHours`, a day unless you choose otherwise.',
  listRequestLogs: 'Each request by a key of this environment: status, error and duration, without its body.',
  listBanks: 'Codes for `bankCode`, on one page.',
  resolveBankAccount: 'Name enquiry: whom an account number belongs to, before money is sent to it.',
  quoteFee: 'What a movement of this amount costs. Withdrawals and payout items are charged alike.',
  receiveRailCallback: 'For banks, not for integrators: signed by the provider of the contract.',
  simulateInboundCredit: 'As a payer would, to the account number of a payment or a wallet.',
  simulateStatementLine: 'A charge, interest or other doing of the bank, which the next reconciliation finds.',
  simulateRecall: 'The money of a credit leaves again, as after a fraud report of the sender.',
  simulateBankAccount: 'Later transfers to the account are paid, rejected, returned, held, or lost in some way.',
  getSimulatedTransfer: 'To compare what the bank did with what the withdrawal, refund or payout item says.',
  resolveSimulatedTransfer: 'As paid, rejected or returned.',
  simulateExpiry: 'Instead of waiting until `expiresAt`.',
};
