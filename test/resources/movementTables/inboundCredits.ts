// Movements of a credit of ₦700.00 that belongs to no payment, or that the rail does not confirm.
import { newUuid } from '../../../src/ids.ts';
import { walletAccount } from '../../../src/ledger/chart.ts';
import type { RefusalCode } from '../../../src/ledger/movement.ts';
import { startInboundCredit } from '../../../src/resources/flows.ts';
import {
  creditToSuspense,
  depositMovement,
  redirectMovement,
  reviewReasonOf,
  setAsideMovement,
} from '../../../src/resources/inboundCredits/movements.ts';
import { BOOK, CREDIT_KEY, call, inSuspense, NO_OWNER, OWNER, receivedCredit, step } from '../movementTable.ts';

const toWallet = { ownerKind: 'wallet', ownerId: OWNER } as const;
const deposit = receivedCredit(70_000, toWallet);
const stray = receivedCredit(70_000, NO_OWNER);

/** The refusals of a deposit by its wallet, each with the reason of its review case. */
const REFUSALS: [RefusalCode, string][] = [
  ['WALLET_FROZEN', 'wallet_frozen'],
  ['WALLET_CLOSED', 'wallet_closed'],
  ['WALLET_KYC_REQUIRED', 'wallet_unverified'],
  ['WALLET_TIER1_LIMIT_EXCEEDED', 'over_limit'],
];

const refused = REFUSALS.map(([code, reason]) => {
  const decided = reviewReasonOf({ code, account: walletAccount(OWNER) }, OWNER);
  if (decided === null) throw new Error(`${code} has no review reason`);
  return step({
    title: `a deposit that its wallet refuses with ${code} is placed in suspense as ${reason}`,
    given: { inbound_credits: [deposit] },
    call: call(creditToSuspense, BOOK, deposit, decided, OWNER),
    ...inSuspense(reason, 70_000),
  });
});

/** A credit to an unknown account number, in suspense; the review cases start from it. */
export const STRAY_IN_SUSPENSE = step({
  title: 'a credit to an unknown account number is placed in suspense',
  given: { inbound_credits: [stray] },
  call: call(creditToSuspense, BOOK, stray, 'unknown_account', null),
  ...inSuspense('unknown_account', 70_000),
});

/** Unconfirmed credits by owner; their review cases are closed by the table of the review cases. */
export const [DEPOSIT_SET_ASIDE, STRAY_SET_ASIDE, PAYMENT_SET_ASIDE] = (
  [
    ['to a wallet', toWallet, OWNER],
    ['to an unknown account number', NO_OWNER, null],
    ['to a payment', { ownerKind: 'payment', ownerId: newUuid() }, OWNER],
  ] as const
).map(([what, owner, walletId]) => {
  const credit = receivedCredit(70_000, owner);
  return step({
    title: `an unconfirmed credit ${what} is set aside without a posting, with a review case that holds no money`,
    given: { inbound_credits: [credit] },
    call: call(setAsideMovement, BOOK, credit, walletId),
    rows: [
      'inbound_credits: set_aside, version 2',
      'review_cases: open, version 1, credit_unconfirmed of 70000 in no account',
    ],
    events: ['review_case.opened'],
    outbox: ['reviewCase: start'],
  });
}) as [ReturnType<typeof step>, ReturnType<typeof step>, ReturnType<typeof step>];

/** A credited deposit; its recall starts from it. */
export const DEPOSITED = step({
  title: 'a deposit is credited to the wallet, without a fee',
  given: { inbound_credits: [deposit] },
  call: call(depositMovement, BOOK, deposit, OWNER),
  net: { 'clearing:sandbox': -70_000, 'wallet:owner': 70_000 },
  transaction: `deposit ${CREDIT_KEY}, enforced`,
  rows: ['inbound_credits: posted, version 2'],
  events: ['wallet.credited'],
});

/** The record of a deposit names a payment, whose flow goes on with it. */
const redirected = step({
  title: 'a deposit whose record names a payment goes on in the flow of the payment, and nothing is posted',
  given: { inbound_credits: [deposit] },
  call: call(
    redirectMovement,
    BOOK,
    deposit,
    startInboundCredit(BOOK, deposit, {
      id: newUuid(),
      targetWalletId: OWNER,
      baseAmount: 200_000,
      fee: 2_000,
      feeBearer: 'payer',
      expiresAt: new Date(),
    }),
  ),
  rows: ['inbound_credits: received, version 2'],
  outbox: ['payment: start or signal creditReceived, again'],
});

export const INBOUND_CREDITS = [
  redirected,
  DEPOSITED,
  ...refused,
  STRAY_IN_SUSPENSE,
  DEPOSIT_SET_ASIDE,
  STRAY_SET_ASIDE,
  PAYMENT_SET_ASIDE,
];
