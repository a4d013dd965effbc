// Reading an inbound credit, and having the rail confirm it: shared by all flows that receive money.
import { publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { RailRefusedError, RailUnavailableError } from '../rail/port.ts';
import { findInboundCredit, type InboundCredit } from '../resources/inboundCredits/queries.ts';
import { bookOf, type FlowScope } from '../workflows/flows.ts';
import type { IncompleteWork } from '../workflows/railWait/decide.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';

/** Reads the credit with which a flow was started or signalled. */
export async function readCredit(
  { sql }: Pick<ActivityDependencies, 'sql'>,
  scope: FlowScope,
  inboundCreditId: string,
): Promise<InboundCredit> {
  const credit = await findInboundCredit(sql, bookOf(scope), requireUuid('inboundCredit', inboundCreditId));
  if (credit === null) throw invariantViolation(`inbound credit ${inboundCreditId} is not in the database`);
  return credit;
}

/** The rail's response about a credit that its callback reported. */
export type Confirmation = 'confirmed' | Pick<IncompleteWork, 'rail' | 'why'>;

/** Queries the rail for the credit: a callback alone moves no money. */
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
    if (report.recalledAt !== null) return { rail: 'unconfirmed', why: 'recalled' };
    const matches = report.amount === credit.amount && report.accountNumber === credit.accountNumber;
    return matches ? 'confirmed' : { rail: 'unconfirmed', why: 'differs' };
  } catch (error) {
    if (error instanceof RailUnavailableError) return { rail: 'unreachable' };
    if (error instanceof RailRefusedError) return { rail: 'unconfirmed', why: 'not_known' };
    throw error;
  }
}

/** The same, as the work that a step leaves incomplete; null if the rail confirms the credit. */
export async function confirmCredit(
  dependencies: Pick<ActivityDependencies, 'rails' | 'log' | 'config'>,
  book: Book,
  credit: InboundCredit,
): Promise<IncompleteWork | null> {
  const confirmation = await askAboutCredit(dependencies, book, credit);
  if (confirmation === 'confirmed') return null;
  const id = publicId('inboundCredit', credit.id);
  dependencies.log.warn(
    { inboundCreditId: id, railName: credit.rail, ...confirmation },
    'the rail has not confirmed a credit',
  );
  return { id, what: 'credit', amount: credit.amount, ...confirmation, limits: limitsOf(dependencies) };
}

/** The settings that a flow needs while it waits for the rail. */
export function limitsOf({ config: { attention } }: Pick<ActivityDependencies, 'config'>): IncompleteWork['limits'] {
  return { railUnreachableMs: attention.railUnreachableMs, creditUnconfirmedMs: attention.creditUnconfirmedMs };
}
