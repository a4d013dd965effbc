// What all flows that take in money share: reading a credit, and having the rail confirm it.
import { requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { findInboundCredit, type InboundCredit } from '../records/inboundCredits.ts';
import { bookOf, type FlowScope } from '../workflows/flows.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { impossible, unconfirmed } from './failures.ts';

/** The credit that a flow was told of. */
export async function readCredit(
  { sql }: ActivityDependencies,
  scope: FlowScope,
  inboundCreditId: string,
): Promise<InboundCredit> {
  const credit = await findInboundCredit(sql, bookOf(scope), requireUuid('inboundCredit', inboundCreditId));
  if (credit === null) throw impossible(`inbound credit ${inboundCreditId} is not in the database`);
  return credit;
}

/** Asks the rail's own books for the credit: a callback alone moves no money. Throws until the rail agrees. */
export async function confirmCredit({ rails }: ActivityDependencies, book: Book, credit: InboundCredit): Promise<void> {
  const rail = rails.named(book.environment, credit.rail);
  if (rail === null) throw unconfirmed(`the rail ${credit.rail} is not configured`);
  const report = await rail.findInboundCredit({ organisationId: book.organisationId, sessionId: credit.sessionId });
  if (report === null) throw unconfirmed('the rail knows no such credit');
  if (report.amount !== credit.amount || report.accountNumber !== credit.accountNumber) {
    throw unconfirmed('the rail tells another amount or account than its callback did');
  }
}
