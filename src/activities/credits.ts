// Reading an inbound credit, and having the rail confirm it: shared by all flows that receive money.
import { publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { type InboundCreditRecord, RailRefusedError, RailUnavailableError } from '../rail/port.ts';
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

/** Why the rail does not confirm what its callback reported. */
export type Unconfirmed = Pick<IncompleteWork, 'rail' | 'why'>;

/** The rail's record of a credit, or why there is none. Only a record has `recalledAt`. */
export async function findCreditRecord(
  { rails }: Pick<ActivityDependencies, 'rails'>,
  { environment, organisationId }: Book,
  credit: Pick<InboundCredit, 'rail' | 'sessionId'>,
): Promise<InboundCreditRecord | Unconfirmed> {
  const rail = rails.named(environment, credit.rail);
  if (rail === null) return { rail: 'unconfirmed', why: 'not_configured' };
  try {
    const record = await rail.findInboundCredit({ organisationId, sessionId: credit.sessionId });
    return record ?? { rail: 'unconfirmed', why: 'not_known' };
  } catch (error) {
    if (error instanceof RailUnavailableError) return { rail: 'unreachable' };
    if (error instanceof RailRefusedError) return { rail: 'unconfirmed', why: 'not_known' };
    throw error;
  }
}

/** The rail's response about a credit that its callback reported. */
export type Confirmation = 'confirmed' | Unconfirmed;

/** Queries the rail for the credit: a callback alone moves no money. */
export async function askAboutCredit(
  dependencies: Pick<ActivityDependencies, 'rails'>,
  book: Book,
  credit: Pick<InboundCredit, 'rail' | 'sessionId' | 'amount' | 'accountNumber'>,
): Promise<Confirmation> {
  const record = await findCreditRecord(dependencies, book, credit);
  if (!('recalledAt' in record)) return record;
  if (record.recalledAt !== null) return { rail: 'unconfirmed', why: 'recalled' };
  const matches = record.amount === credit.amount && record.accountNumber === credit.accountNumber;
  return matches ? 'confirmed' : { rail: 'unconfirmed', why: 'differs' };
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
