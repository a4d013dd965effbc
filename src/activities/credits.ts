// What all flows that take in money share: reading a credit, and having the rail confirm it.
import { publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { RailRefusedError, RailUnavailableError } from '../rail/port.ts';
import { findInboundCredit, type InboundCredit } from '../resources/inboundCredits/queries.ts';
import { bookOf, type FlowScope } from '../workflows/flows.ts';
import type { IncompleteWork } from '../workflows/railWait/decide.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';

/** The credit that a flow was told of. */
export async function readCredit(
  { sql }: Pick<ActivityDependencies, 'sql'>,
  scope: FlowScope,
  inboundCreditId: string,
): Promise<InboundCredit> {
  const credit = await findInboundCredit(sql, bookOf(scope), requireUuid('inboundCredit', inboundCreditId));
  if (credit === null) throw invariantViolation(`inbound credit ${inboundCreditId} is not in the database`);
  return credit;
}

/** What the rail answers about a credit that its callback reported. */
export type Confirmation = 'confirmed' | Pick<IncompleteWork, 'rail' | 'why'>;

/** Asks the rail's own books for the credit: a callback alone moves no money. */
export async function askAboutCredit(
  { rails }: Pick<ActivityDependencies, 'rails'>,
  book: Book,
  credit: Pick<InboundCredit, 'rail' | 'sessionId' | 'amount' | 'accountNumber'>,
): Promise<Confirmation> {
  const rail = rails.named(book.environment, credit.rail);
  if (rail === null) return { rail: 'unconfirmed', why: 'not_configured' };
  try {
    const report = await rail.findInboundCredit({ organisationId: book.organisationId, sessionId: credit.sessionId });
    if (report === null) return { rail: 'unconfirmed', why: 'not_known' };
    const agrees = report.amount === credit.amount && report.accountNumber === credit.accountNumber;
    return agrees ? 'confirmed' : { rail: 'unconfirmed', why: 'differs' };
  } catch (error) {
    if (error instanceof RailUnavailableError) return { rail: 'unreachable' };
    if (error instanceof RailRefusedError) return { rail: 'unconfirmed', why: 'not_known' };
    throw error;
  }
}

/** The same, as what a step leaves incomplete; null when the rail confirms it. */
export async function confirmCredit(
  dependencies: Pick<ActivityDependencies, 'rails' | 'log' | 'config'>,
  book: Book,
  credit: InboundCredit,
): Promise<IncompleteWork | null> {
  const confirmation = await askAboutCredit(dependencies, book, credit);
  if (confirmation === 'confirmed') return null;
  const id = publicId('inboundCredit', credit.id);
  dependencies.log.warn({ inboundCreditId: id, railName: credit.rail, ...confirmation }, 'a credit is not confirmed');
  return { id, what: 'credit', amount: credit.amount, ...confirmation, limits: limitsOf(dependencies) };
}

/** The settings that a flow goes by while it waits for the rail. */
export function limitsOf({ config: { attention } }: Pick<ActivityDependencies, 'config'>): IncompleteWork['limits'] {
  return { railUnreachableMs: attention.railUnreachableMs, creditUnconfirmedMs: attention.creditUnconfirmedMs };
}
