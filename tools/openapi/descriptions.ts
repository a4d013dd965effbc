// What the reference says of each operation: one line, in the imperative; then what follows from it, and what a reader
// looks for next.
// The contract (docs/contract.md) has the rules in full.

/** By operationId. */
export const DESCRIPTIONS: Readonly<Record<string, readonly [summary: string, description: string]>> = {
  getHealth: [
    'Get the health of the service',
    'Whether this environment can serve: 200, or 503 with the part that is down. Needs no key.',
  ],
  createWallet: [
    'Create a wallet',
    'For one of your customers. A new wallet has `kycStatus` `none`: it cannot hold money or show a balance until ' +
      '`submitKyc`. Settlement wallets are made by the service.',
  ],
  listWallets: ['List wallets', 'Find a wallet by your own id with `externalReference`, or by `email`.'],
  getWallet: ['Get a wallet', '`amountOwed` is what the wallet still owes after the bank took money back.'],
  updateWallet: [
    "Change a wallet's contact details or metadata",
    'Only what is sent changes; metadata is merged by key. Identity details are changed with `submitKyc`.',
  ],
  submitKyc: [
    "Submit a customer's KYC details",
    'The wallet becomes `tier1`, or the `tier` that is sent: it can hold and move money within the limits of that tier. ' +
      'The details are stored encrypted and are not verified.',
  ],
  getWalletBalance: [
    "Get a wallet's balance, now or at a time",
    'The sum of all entries of the wallet. With `at`, the balance as of that time, the movement of that millisecond ' +
      'included. 422 below tier1.',
  ],
  getWalletLimits: [
    "Get a wallet's limits, with what is left of them",
    'Those of its tier. Nothing that comes back (a failed withdrawal, a cancelled hold) is used.',
  ],
  getDepositAccount: [
    "Get a wallet's permanent account number",
    'Anyone may pay into this account number, at any time. It is opened by the first request and stays the same.',
  ],
  listWalletDeposits: [
    'List the deposits to a wallet',
    'What was paid into the permanent account number: who sent it, when, and what became of it.',
  ],
  getWalletStatement: [
    "Get a wallet's statement of a month, as a file too",
    'With `Accept: text/csv` or `application/pdf`: every entry, oldest first, between the balances, in naira or kobo.',
  ],
  listWalletTransactions: [
    "List a wallet's statement",
    'Each line has the balance after it, what it was for and the other side. As CSV: `Accept: text/csv`.',
  ],
  getTransaction: [
    'Get a ledger transaction with its postings',
    'One business event as double-entry postings, by the id of a line of a statement.',
  ],
  createTransfer: [
    'Transfer money to another wallet',
    'Between two wallets of yours. Final at once: 201 means that the money has moved. With `hold` it is in the ' +
      '`heldBalance` of the destination until its hold is released: at `releaseAt`, or `release`: `manual`.',
  ],
  listTransfers: [
    'List transfers',
    'By wallet, or by your `reference`. By `destinationWalletId` only those whose money it has got at once: list its holds ' +
      'for the others.',
  ],
  getTransfer: ['Get a transfer', 'Only its description and metadata change after it was made.'],
  updateTransfer: [
    "Change a transfer's description or metadata",
    'Metadata is merged by key; `null` or an empty text removes a key. Its statement lines have the new description.',
  ],
  releaseHold: [
    'Release held money to its wallet',
    'All of it, or `amount`. Under the rules of the wallet: a frozen or full one refuses, and the hold stays.',
  ],
  cancelHold: [
    'Give held money back to the wallet that paid',
    'All that is still held. What was released stays with the wallet. Of a payment it is refunded to who paid, which ' +
      'needs the scope `payment` too.',
  ],
  listHolds: ['List holds', 'Of a wallet or payment, or all that are still `held`.'],
  getHold: ['Get a hold', '`amountHeld` is what can still be released or cancelled.'],
  payFromWallet: [
    'Pay a payment from a wallet',
    'Settles a pending payment of method `virtual_wallet` with the money of this wallet, at once.',
  ],
  createWithdrawal: [
    'Withdraw money to a bank account',
    '201 means accepted: amount and fee have left the wallet. The end comes as `withdrawal.completed`, ' +
      '`withdrawal.failed` or `withdrawal.returned`; after the last two everything is back. An `accountName` is compared ' +
      'with the name at the bank first.',
  ],
  listWithdrawals: ['List withdrawals', 'By wallet, status, or your `reference`.'],
  getWithdrawal: ['Get a withdrawal', '`processing` is not paid yet. `failureCode` says why it failed or came back.'],
  updateWithdrawal: [
    "Change a withdrawal's metadata",
    'It is merged by key; `null` or an empty text removes a key. Nothing else of a withdrawal can be changed.',
  ],
  createPayment: [
    'Create a payment',
    'With `bank_transfer` the answer has an account number for this payment alone, and `checkoutUrl`, a page to send ' +
      'the payer to. Deliver when `payment.completed` arrives. Without full payment by `expiresAt` it expires. ' +
      '`splits` go to other wallets, together with the rest for the target. With `hold` the money is in a `heldBalance` ' +
      'until its hold is released.',
  ],
  createSplitTemplate: ['Save splits', 'For `splitTemplateId` of a payment. It never changes: save another instead.'],
  listSplitTemplates: ['List saved splits', 'All that were saved.'],
  getSplitTemplate: ['Get saved splits', 'The wallets, and the amount or share of each.'],
  cancelPayment: [
    'Cancel a pending payment',
    'While it is `pending`. Its account number closes; money that comes for it all the same goes to review, or back by ' +
      '`onMismatch`. Cancelling it again changes nothing.',
  ],
  listPayments: ['List payments', 'By status, wallet, account number, or your `reference`.'],
  getPayment: [
    'Get a payment',
    '`amountReceived` is what has come and counts, `amountInReview` what has come and waits for a decision: ask the ' +
      'payer for nothing more while it does.',
  ],
  updatePayment: [
    "Change a payment's description or metadata",
    'In any status. Metadata is merged by key; `null` or an empty text removes a key. Sends no event.',
  ],
  listPaymentCredits: [
    'List the credits that a payment received',
    'Each transfer that came for it: sender, session id, time, and where the money went.',
  ],
  refundPayment: [
    'Refund a payment',
    'All, or a part of it, to the account or wallet that paid, from each wallet in proportion. Where that is not known, name a `bankAccount`. The end ' +
      'comes as `refund.completed` or `refund.failed`. The fee is kept.',
  ],
  getRefund: ['Get a refund', 'After `failed` the money is back in the wallet.'],
  updateRefund: [
    "Change a refund's metadata",
    'It is merged by key; `null` or an empty text removes a key. Nothing else of a refund can be changed.',
  ],
  listPaymentRefunds: ['List the refunds of a payment', 'Together they never exceed what the payment brought.'],
  listRefunds: ['List refunds', 'Of all payments: by status, destination, or your `reference`.'],
  createPayout: [
    'Create a payout',
    '202 means that the whole batch is checked and reserved. Items succeed and fail one by one, each with an event; ' +
      '`payout.completed`, `payout.partially_completed` or `payout.failed` ends it. The body may be a CSV file.',
  ],
  listPayouts: ['List payouts', 'By status, wallet, or your `reference`. With their items, but not as CSV.'],
  getPayout: ['Get a payout', 'With all items, and how many have succeeded and failed.'],
  updatePayout: [
    "Change a payout's metadata",
    'It is merged by key; `null` or an empty text removes a key. Its items do not change.',
  ],
  listPayoutItems: [
    'List the items of a payout, in the order of the request',
    'For a large payout: find the failed ones with `status=failed`.',
  ],
  validatePayout: [
    'Check a payout without making it',
    'The same checks as a payout, account names included, and what it would cost. Reserves nothing.',
  ],
  createWebhookEndpoint: [
    'Register a webhook endpoint',
    'Events are signed with the `secret` of the response, which is shown this once. Without `eventTypes` it gets all.',
  ],
  listWebhookEndpoints: ['List webhook endpoints', 'Secrets are not shown.'],
  getWebhookEndpoint: ['Get a webhook endpoint', 'Its address, its event types, and whether it is enabled.'],
  updateWebhookEndpoint: [
    'Change a webhook endpoint',
    'Disable it to pause deliveries; what it missed can be sent with `redeliverToEndpoint`.',
  ],
  deleteWebhookEndpoint: ['Delete a webhook endpoint', 'Deliveries to it end.'],
  rotateWebhookSecret: [
    'Make a new signing secret',
    'For a day events are signed with both secrets, so that no delivery is refused meanwhile.',
  ],
  sendTestEvent: [
    'Send a test event to an endpoint',
    'To see that the address is reached and the signature is verified. It moves nothing.',
  ],
  listFailedDeliveries: [
    'List the deliveries that failed at an endpoint',
    'Events that were given up after all attempts, with the last response.',
  ],
  redeliverToEndpoint: [
    'Send an endpoint everything again that it missed since a time',
    'After an outage of yours: every event since `since` that it has not received.',
  ],
  listReviewCases: [
    'List review cases',
    'Received money that waits for a decision: late, too much, over a limit, or for a frozen wallet. Find those of a ' +
      'payment with `paymentId`.',
  ],
  getReviewCase: ['Get a review case', '`actions` are what this key may decide now.'],
  resolveReviewCase: [
    'Decide where the money of a review case belongs',
    'Credit it, send it back to its sender, or set it aside. Large amounts need two operators.',
  ],
  listEvents: ['List events', 'To catch up after an outage, read `order=asc` from your last cursor.'],
  getEvent: [
    'Get an event',
    'As it was delivered. Apply it only if its `sequence` is higher than the last one of the resource.',
  ],
  listEventDeliveries: [
    "List an event's deliveries",
    'To which endpoints it went, each attempt, and when the next one is due.',
  ],
  redeliverEvent: ['Send an event again', 'With the same `webhook-id`, so that a receiver which has it can ignore it.'],
  createApiKey: [
    'Create an API key',
    'The key is shown this once. It has no scope that its maker lacks, shares its rate limit, and ends with it.',
  ],
  listApiKeys: [
    'List API keys',
    'Those that can be used and those that have ended. No key is shown, only its last four characters.',
  ],
  getApiKey: ['Get an API key', 'Its scopes, who made it, when it was last used, and when it ends.'],
  revokeApiKey: ['Revoke an API key', 'At once, with every key that was made by it.'],
  rotateApiKey: [
    'Replace an API key by a new one',
    'The old key works on for `overlapHours`, a day unless you choose otherwise.',
  ],
  listRequestLogs: [
    'List the requests of the last days',
    'Each request by a key of this environment: status, error and duration, without its body.',
  ],
  search: [
    'Search all resources',
    'By id, or exactly by what you attached: a reference, an email, or a value of metadata. Only what the key may read.',
  ],
  listBanks: ['List the banks', 'Codes for `bankCode`, on one page.'],
  resolveBankAccount: [
    'Look up the name of a bank account',
    'Name enquiry: whom an account number belongs to, before money is sent to it.',
  ],
  quoteFee: [
    'Quote the fee of a movement',
    'What a movement of this amount costs. Withdrawals and payout items are charged alike.',
  ],
  receiveRailCallback: [
    'Receive a callback of a bank rail',
    'For banks, not for integrators: signed by the provider of the contract.',
  ],
  simulateInboundCredit: [
    'Send money to an account number',
    'As a payer would, to the account number of a payment or a wallet.',
  ],
  simulateStatementLine: [
    "Add a line of the bank's own to its statement",
    'A charge, interest or other doing of the bank, which the next reconciliation finds.',
  ],
  simulateRecall: [
    'Have the bank take a credit back',
    'The money of a credit leaves again, as after a fraud report of the sender.',
  ],
  simulateBankAccount: [
    'Choose how transfers to a bank account end',
    'Later transfers to the account are paid, rejected, returned, held, or lost in some way.',
  ],
  getSimulatedTransfer: [
    'Get a transfer as the sandbox bank has it',
    'To compare what the bank did with what the withdrawal, refund or payout item says.',
  ],
  resolveSimulatedTransfer: ['End a transfer that the sandbox bank holds', 'As paid, rejected or returned.'],
  simulateExpiry: ['Have a payment expire now', 'Instead of waiting until `expiresAt`.'],
};
