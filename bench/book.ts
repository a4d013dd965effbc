// The book under test: an organisation with its settlement wallet (the hot account) and ten thousand customer wallets,
// each with a balance, limits and all other properties of a wallet.
import { connect, type Sql } from '../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../src/ids.ts';
import { type AccountCode, clearingAccount, walletAccount } from '../src/ledger/chart.ts';
import { Journal } from '../src/ledger/journal.ts';
import { CONTRACT_TIER1 } from '../src/ledger/limits.ts';
import type { Movement, Transaction } from '../src/ledger/movement.ts';
import type { Book, Environment, Kobo } from '../src/money.ts';
import { creditTransaction } from '../src/resources/inboundCredits/movements.ts';
import type { InboundCredit } from '../src/resources/inboundCredits/queries.ts';
import { createOrganisation } from '../src/resources/organisations.ts';
import { OWNER_PROOF } from '../src/resources/proofs.ts';
import { transferMovement } from '../src/resources/transfers/movements.ts';

export const WALLETS = 10_000;

/** Half of the balance limit, so that a run of small transfers neither empties a wallet nor reaches the limit. */
export const OPENING_BALANCE: Kobo = CONTRACT_TIER1.balance / 2;
const HOT_BALANCE: Kobo = 1_000_000_000_000;

export interface BenchBook {
  url: string;
  book: Book;
  /** The connection pool and journal of the service, configured as in an API process. */
  sql: Sql;
  journal: Journal;
  /** The settlement wallet. */
  hot: Uuid;
  wallets: Uuid[];
  close: () => Promise<void>;
}

interface BookOptions {
  /** Of its organisation. */
  name?: string;
  environment?: Environment;
  wallets?: number;
}

/** Creates an organisation and its book in a migrated database. */
export async function openBook(
  url: string,
  { name = 'Bench', environment = 'test', wallets: count = WALLETS }: BookOptions = {},
): Promise<BenchBook> {
  const sql = connect(url, { connectionsMax: 10 });
  const journal = new Journal(sql);
  const organisation = await createOrganisation(sql, {
    name,
    email: 'bench@example.com',
    proof: OWNER_PROOF,
  });
  const book: Book = { organisationId: organisation.organisationId, environment };
  const hot = environment === 'live' ? organisation.liveSettlementWalletId : organisation.settlementWalletId;
  const wallets = Array.from({ length: count }, newUuid);
  await sql`
    SELECT ledger.create_wallet(${book.organisationId}, ${book.environment}, id, 'end_user', 'customer@example.com',
                                NULL, NULL, NULL, now())
    FROM unnest(${wallets}::uuid[]) AS w (id)`;
  await sql`
    SELECT ledger.record_kyc(${book.organisationId}, ${book.environment}, ${OWNER_PROOF}, id, 'sealed', ARRAY['bvn'], NULL,
                             'tier1', ${CONTRACT_TIER1.balance}, ${CONTRACT_TIER1.transaction})
    FROM unnest(${wallets}::uuid[]) AS w (id)`;
  await Promise.all([
    fund(journal, book, hot, HOT_BALANCE),
    ...wallets.map((wallet) => fund(journal, book, wallet, OPENING_BALANCE)),
  ]);
  await analyse(url);
  return { url, book, sql, journal, hot, wallets, close: () => sql.end({ timeout: 5 }) };
}

/** As autovacuum does within a minute: the plans of an empty table read the whole of one that grows. */
export async function analyse(url: string): Promise<void> {
  const owner = connect(url, { connectionsMax: 1, role: 'owner' });
  await owner`VACUUM (ANALYZE)`;
  await owner.end();
}

/** Posts money that a rail has received for a wallet, as the flow of inbound credits does. */
async function fund(journal: Journal, book: Book, wallet: Uuid, amount: Kobo): Promise<void> {
  const id = newUuid();
  const credit: InboundCredit = {
    id,
    version: 1,
    rail: 'bench',
    sessionId: id,
    accountNumber: '0000000000',
    accountReference: null,
    amount,
    senderName: null,
    senderAccountNumber: null,
    senderBankCode: null,
    senderSessionId: null,
    ownerKind: 'wallet',
    ownerId: wallet,
    status: 'posted',
    receivedAt: new Date(),
    createdAt: new Date(),
    recall: null,
    recalledFrom: null,
    recalledTaken: null,
    recalledHeld: 0,
  };
  const postings = [{ debit: clearingAccount(credit.rail), credit: walletAccount(wallet), amount }];
  const transaction = creditTransaction(credit, 'deposit', publicId('inboundCredit', id), postings);
  const result = await journal.post({
    book,
    transaction: { ...transaction, rules: 'credit_exempt' },
    rows: { inbound_credits: [credit] },
  });
  if (result.outcome !== 'posted') throw new Error(`a wallet was not funded: ${JSON.stringify(result)}`);
}

/** A movement with a single posting and no resource, event or message. */
export function oneTransfer(
  book: Book,
  debit: AccountCode,
  credit: AccountCode,
  amount: Kobo,
  rules: Transaction['rules'] = 'enforced',
): Movement {
  const id = newUuid();
  return {
    book,
    transaction: {
      id,
      key: `bench/${id}`,
      kind: 'transfer',
      resource: publicId('transfer', id),
      effectiveAt: new Date(),
      rules,
      postings: [{ debit, credit, amount }],
    },
  };
}

/** A transfer with its resource, event and message, as the API posts it. */
export const newTransfer = (book: Book, sourceWalletId: Uuid, destinationWalletId: Uuid): Movement =>
  transferMovement(book, {
    id: newUuid(),
    sourceWalletId,
    destinationWalletId,
    holdId: null,
    amount: pickAmount(),
    fee: 0,
    status: 'completed',
    description: null,
    reference: null,
    metadata: null,
    createdAt: new Date(),
  });

/**
 * Two wallets for a transfer. `hot`: one of them is the hot wallet, as source or destination with equal probability.
 */
export function pickPair({ hot, wallets }: BenchBook, load: 'hot' | 'uniform'): { source: Uuid; destination: Uuid } {
  const one = Math.floor(Math.random() * wallets.length);
  const wallet = wallets[one] as Uuid;
  if (load === 'hot') {
    return Math.random() < 0.5 ? { source: hot, destination: wallet } : { source: wallet, destination: hot };
  }
  const other = (one + 1 + Math.floor(Math.random() * (wallets.length - 1))) % wallets.length;
  return { source: wallet, destination: wallets[other] as Uuid };
}

/** A small amount, so that no limit is reached. */
export const pickAmount = (): Kobo => 1 + Math.floor(Math.random() * 1_000);

/** Posts one transfer, between accounts as the load says. Throws if it was refused. */
export async function postOne(book: BenchBook, load: 'hot' | 'uniform'): Promise<void> {
  const { source, destination } = pickPair(book, load);
  const movement = oneTransfer(book.book, walletAccount(source), walletAccount(destination), pickAmount());
  const { outcome } = await book.journal.post(movement);
  if (outcome !== 'posted') throw new Error(`a posting was ${outcome}`);
}
