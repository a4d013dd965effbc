// Requests of operators: an adjustment, or the reversal of one. Nothing is posted until another operator approves it.
import type { Sql } from '../../database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Journal } from '../../ledger/journal.ts';
import type { Posting } from '../../ledger/postings.ts';
import type { Book } from '../../money.ts';
import type { Proof } from '../proofs.ts';
import { type NewAdjustment, openAdjustment } from './movements.ts';
import { accountsOf, refusePostings, reversedPostings } from './postings.ts';
import { type Adjustment, findAccounts, findAdjustment, findClosedPeriod, hasResource } from './queries.ts';

/** `message`: why it is refused and what to do. */
export type RequestOutcome = { outcome: 'requested'; id: Uuid } | { outcome: 'refused'; message: string };

/** Why, with which evidence, and by which operator. */
export type Grounds = Pick<Adjustment, 'reason' | 'evidence'> & { proof: Proof };

/** What it is about. */
export type Subject = Pick<Adjustment, 'effectiveAt' | 'corrects' | 'description'>;

const NOTHING_IN_PARTICULAR: Subject = { effectiveAt: null, corrects: null, description: null };

const refused = (message: string): RequestOutcome => ({ outcome: 'refused', message });

/** `id`: of a request that may be repeated; the second one is refused. */
export async function requestAdjustment(
  { sql, journal }: { sql: Sql; journal: Journal },
  book: Book,
  postings: readonly Posting[],
  { id, proof, ...about }: Grounds & Partial<Subject> & { id?: Uuid },
): Promise<RequestOutcome> {
  const refusal =
    refusePostings(postings, await findAccounts(sql, book, accountsOf(postings))) ??
    (await refuseSubject(sql, book, about));
  if (refusal !== null) return refused(refusal);
  const row = { ...newAdjustment(postings, null, about), ...(id !== undefined && { id }) };
  return await commit(journal, book, row, proof);
}

/** Why it may not be about this; null if it may. */
async function refuseSubject(sql: Sql, book: Book, about: Partial<Subject>): Promise<string | null> {
  const { effectiveAt = null, corrects = null } = about;
  if (corrects !== null && !(await hasResource(sql, book, corrects)))
    return `This book has no ${corrects} that an adjustment can correct.`;
  if (effectiveAt !== null && effectiveAt > new Date()) return 'An adjustment is not about a time in the future.';
  const closed = await findClosedPeriod(sql, book, about);
  if (closed === null) return null;
  return `The period ${closed} is closed. Leave out --at: the adjustment is then of the day on which it is posted.`;
}

/** Requests the adjustment that undoes a posted one. */
export async function requestReversal(
  { sql, journal }: { sql: Sql; journal: Journal },
  book: Book,
  id: Uuid,
  { proof, ...grounds }: Grounds,
): Promise<RequestOutcome> {
  const name = publicId('adjustment', id);
  const row = await findAdjustment(sql, book, id);
  if (row === null) return refused(`There is no adjustment ${name}.`);
  if (row.status !== 'posted')
    return refused(`The adjustment ${name} is ${row.status}: only a posted one is reversed.`);
  if (row.reverses !== null)
    return refused(`The adjustment ${name} is itself a reversal. Request a new adjustment instead.`);
  return await commit(
    journal,
    book,
    newAdjustment(reversedPostings(row.postings), id, { ...grounds, corrects: row.corrects }),
    proof,
  );
}

const newAdjustment = (
  postings: readonly Posting[],
  reverses: Uuid | null,
  about: Omit<Grounds, 'proof'> & Partial<Subject>,
): NewAdjustment => ({
  id: newUuid(),
  version: 1,
  status: 'requested',
  postings,
  ...NOTHING_IN_PARTICULAR,
  ...about,
  reverses,
  decidedBy: null,
  createdAt: new Date(),
  decidedAt: null,
});

async function commit(journal: Journal, book: Book, row: NewAdjustment, proof: Proof): Promise<RequestOutcome> {
  const result = await journal.post(openAdjustment(book, row, proof));
  if (result.outcome === 'posted') return { outcome: 'requested', id: row.id };
  if (result.outcome === 'conflict' && row.reverses !== null) {
    const name = publicId('adjustment', row.reverses);
    return refused(`The adjustment ${name} has a reversal already: npm run cli -- adjustments show ${name}`);
  }
  if (result.outcome === 'conflict')
    return refused(`It was requested before: npm run cli -- adjustments show ${publicId('adjustment', row.id)}`);
  throw new Error(`the request of an adjustment was not committed: ${result.outcome}`);
}
