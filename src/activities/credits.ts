// Reading an inbound credit, and having the rail confirm it: shared by all flows that receive money. What is posted is
// what the rail's own record says, whatever was reported before.
import { publicId, requireUuid } from '../ids.ts';
import type { Decision } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../rail/errors.ts';
import type { InboundCreditRecord } from '../rail/port.ts';
import { type ConfirmedCredit, confirmedBy } from '../resources/inboundCredits/confirm.ts';
import { findInboundCredit, type InboundCredit } from '../resources/inboundCredits/queries.ts';
import { decisionOf, recordDecision } from '../resources/operators.ts';
import { bookOf, type FlowScope } from '../workflows/flows.ts';
import type { SentDecision } from '../workflows/operators/messages.ts';
import type { IncompleteWork } from '../workflows/railWait/decide.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';

export async function readCredit(
  { sql }: Pick<ActivityDependencies, 'sql'>,
  scope: FlowScope,
  id: string,
): Promise<InboundCredit> {
  return requireRow(
    await findInboundCredit(sql, bookOf(scope), requireUuid('inboundCredit', id)),
    `inbound credit ${id}`,
  );
}

/** Why the rail does not confirm what its callback reported. */
type Unconfirmed = Pick<IncompleteWork, 'rail' | 'why'>;

/** The rail's record of a credit, or why there is none. Only a record has `recalledAt`. */
async function findCreditRecord(
  { rails, log }: Pick<ActivityDependencies, 'rails' | 'log'>,
  book: Book,
  credit: Pick<InboundCredit, 'rail' | 'sessionId' | 'accountReference'>,
): Promise<InboundCreditRecord | Unconfirmed> {
  const rail = await rails.named(book, credit.rail);
  if (rail === null) return { rail: 'unconfirmed', why: 'not_configured' };
  try {
    const { sessionId, accountReference } = credit;
    const { organisationId } = book;
    const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference });
    if (found === 'pending' || found === 'failed') return { rail: 'unconfirmed', why: found };
    return found ?? { rail: 'unconfirmed', why: 'not_known' };
  } catch (error) {
    if (error instanceof RailUnavailableError || error instanceof RailNotReadyError) {
      const { rail: railName, sessionId } = credit;
      log.warn(
        { ...book, railName, sessionId, providerMessage: error.providerMessage },
        'the rail gave no certain answer about a credit',
      );
      return { rail: 'unreachable' };
    }
    if (error instanceof RailRefusedError) return { rail: 'unconfirmed', why: 'not_known' };
    throw error;
  }
}

/** Queries the rail for the credit, or for its recall: a callback alone moves no money. */
export async function queryCredit(
  dependencies: Pick<ActivityDependencies, 'sql' | 'rails' | 'log'>,
  book: Book,
  credit: InboundCredit,
  asked: 'received' | 'recalled' = 'received',
): Promise<{ confirmed: ConfirmedCredit } | Unconfirmed> {
  const record = await findCreditRecord(dependencies, book, credit);
  if (!('recalledAt' in record)) return record;
  const isRecalled = record.recalledAt !== null;
  if (isRecalled !== (asked === 'recalled'))
    return { rail: 'unconfirmed', why: isRecalled ? 'recalled' : 'not_recalled' };
  return { confirmed: await confirmedBy(dependencies.sql, book, credit, record) };
}

/** The same, with the work that a step leaves incomplete if the rail does not confirm the credit. */
export async function confirmCredit(
  dependencies: Pick<ActivityDependencies, 'sql' | 'rails' | 'log' | 'config'>,
  book: Book,
  credit: InboundCredit,
): Promise<{ confirmed: ConfirmedCredit } | { incomplete: IncompleteWork }> {
  const found = await queryCredit(dependencies, book, credit);
  const id = publicId('inboundCredit', credit.id);
  const about = { inboundCreditId: id, railName: credit.rail };
  if ('confirmed' in found) {
    const { amount, ownerId } = found.confirmed;
    if (amount !== credit.amount || ownerId !== credit.ownerId) {
      dependencies.log.warn({ ...about, reported: credit.amount, amount }, "a credit differs from its rail's record");
    }
    return found;
  }
  dependencies.log.warn({ ...about, ...found }, 'the rail has not confirmed a credit');
  return { incomplete: { id, what: 'credit', amount: credit.amount, ...found, limits: limitsOf(dependencies) } };
}

/** The decision with which a credit is set aside, if the database accepts it; null: there is none. */
export async function setAsideDecision(
  { sql, log }: Pick<ActivityDependencies, 'sql' | 'log'>,
  book: Book,
  subject: string,
  sent: SentDecision | null,
): Promise<Decision | null> {
  if (sent === null) return null;
  const action = 'resolve:set_aside';
  const asked = await recordDecision(sql, book, { ...sent, subject, action });
  if (asked.outcome === 'accepted') return decisionOf(sent, subject, action);
  log.warn({ subject, ...asked }, 'a decision without proof was not carried out');
  return null;
}

/** The settings that a flow needs while it waits for the rail. */
export function limitsOf({ config: { attention } }: Pick<ActivityDependencies, 'config'>): IncompleteWork['limits'] {
  return { railUnreachableMs: attention.railUnreachableMs, creditUnconfirmedMs: attention.creditUnconfirmedMs };
}
