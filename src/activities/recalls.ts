// The activities of a recall: the bank has taken an inbound credit back. Nothing is posted until the rail confirms it.

import { paymentSuspenseAccount } from '../ledger/chart.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { recallFlowId } from '../resources/flows.ts';
import { listHoldsOf } from '../resources/holds/queries.ts';
import { type ConfirmedCredit, confirmedBy } from '../resources/inboundCredits/confirm.ts';
import type { InboundCredit } from '../resources/inboundCredits/queries.ts';
import { findPayment } from '../resources/payments/queries.ts';
import {
  recallFromCase,
  recallFromNowhere,
  recallFromPayment,
  recallFromWallet,
  recallUnposted,
  setAsideRecallMovement,
} from '../resources/recalls/movements.ts';
import { isHeld } from '../resources/reviewCases/movements.ts';
import { findCasesOfCredit, findPaymentOfCase } from '../resources/reviewCases/queries.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import { bookOf } from '../workflows/flows.ts';
import type { CreditActivities, CreditProgress } from '../workflows/railWait/messages.ts';
import { locateMoney } from '../workflows/recall/decide.ts';
import { findCreditRecord, limitsOf, readCredit, setAsideDecision, type Unconfirmed } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';
import { retryOnConflict } from './posting.ts';

export function createRecallActivities(dependencies: ActivityDependencies): Pick<CreditActivities, 'applyRecall'> {
  const { sql, journal } = dependencies;

  /** Queries the rail for the credit, which it must have taken back. */
  async function queryRecall(book: Book, credit: InboundCredit): Promise<{ recalled: ConfirmedCredit } | Unconfirmed> {
    const record = await findCreditRecord(dependencies, book, credit);
    if (!('recalledAt' in record)) return record;
    if (record.recalledAt === null) return { rail: 'unconfirmed', why: 'not_recalled' };
    return { recalled: await confirmedBy(sql, book, credit, record) };
  }

  async function movementOf(book: Book, credit: InboundCredit, recalled: ConfirmedCredit): Promise<Movement> {
    const payment =
      credit.ownerKind === 'payment' && credit.ownerId !== null ? await findPayment(sql, book, credit.ownerId) : null;
    const { whole: reviewCase, surplus } = await findCasesOfCredit(sql, book, credit);
    const holder = locateMoney({ ...credit, payment: payment?.status ?? null, reviewCase });
    if (holder === 'nowhere') return recallUnposted(book, recalled);
    if (holder === 'elsewhere') return recallFromNowhere(book, credit);
    if (holder === 'payment' && payment !== null)
      return recallFromPayment(book, credit, payment, paymentSuspenseAccount(payment.id));
    if (holder === 'case' && reviewCase !== null) return recallFromCase(book, credit, reviewCase, payment);
    const walletId = holder === 'wallet_of_case' ? reviewCase?.walletId : (payment?.targetWalletId ?? credit.ownerId);
    const found = walletId == null ? null : await findWallet(sql, book, walletId);
    const wallet = requireRow(found, `the wallet of inbound credit ${credit.id}`);
    const isOfPayment = wallet.id === payment?.targetWalletId;
    return recallFromWallet(book, credit, wallet.id, wallet.balance, {
      payment: isOfPayment ? payment : null,
      holds: isOfPayment ? await listHoldsOf(sql, book, payment) : [],
      surplus: holder === 'wallet' && surplus?.status !== 'credited' ? surplus : null,
    });
  }

  /** Takes a credit, recalled when it or its surplus had left, out of the case that has that again; null: none has. */
  async function cameBack(book: Book, credit: InboundCredit): Promise<Movement | null> {
    const { whole, surplus } = await findCasesOfCredit(sql, book, credit);
    const hadLeft = credit.recalledFrom === null && credit.recalledTaken === 0;
    const has = hadLeft ? whole : surplus;
    if (has === null || !isHeld(has) || (hadLeft && has.amount < credit.amount)) return null;
    return recallFromCase(book, credit, has, await findPaymentOfCase(sql, book, has));
  }

  return {
    async applyRecall(input, { setAside }) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async ({ postAsRead }): Promise<CreditProgress | null> => {
        const credit = await readCredit(dependencies, input, input.inboundCreditId);
        if (credit.recall === 'posted') {
          const movement = await cameBack(book, credit);
          return movement === null || (await postAsRead(movement)) ? { status: 'posted' } : null;
        }
        if (credit.recall !== 'received') return { status: credit.recall ?? 'none' };
        const found = await queryRecall(book, credit);
        if ('recalled' in found) {
          return (await postAsRead(await movementOf(book, credit, found.recalled))) ? { status: 'posted' } : null;
        }
        const decision = await setAsideDecision(dependencies, book, recallFlowId(credit.id), setAside);
        if (decision === null) {
          const { inboundCreditId: id } = input;
          const work = { id, what: 'credit' as const, amount: credit.amount, limits: limitsOf(dependencies) };
          return { status: 'received', incomplete: { ...work, ...found } };
        }
        const movement = { ...setAsideRecallMovement(book, credit), decision };
        return (await postAsRead(movement)) ? { status: 'set_aside' } : null;
      });
    },
  };
}
