// The schemas of what the ledger shows: transactions, and the lines of a wallet's statement.
import { z } from 'zod';
import { POSTING_COMPONENTS } from '../../ledger/components.ts';
import { ENTRY_KINDS, type EntryKind } from '../../ledger/entryKinds.ts';
import { anyPublicId, currency, kobo, publicIdOf, time } from '../../resources/publicFields.ts';

const lineId = z.string().describe("The transaction's id, a slash, and the place of the posting in it");
const transactionKind = z.string().describe('What moved the money, such as `transfer`: see the contract, section 4.4');
const component = z
  .enum(POSTING_COMPONENTS)
  .describe('principal: the amount; fee: the fee for it; total: both, coming back together');

export const transaction = z
  .object({
    id: publicIdOf('transaction'),
    kind: transactionKind,
    resourceId: anyPublicId.describe('The resource whose movement this is'),
    reversesTransactionId: publicIdOf('transaction').nullable(),
    postings: z.array(
      z.object({
        id: lineId,
        debitAccount: z.string().describe('`wallet:` and the id of a wallet, or an account of the platform'),
        creditAccount: z.string(),
        amount: kobo,
        component,
      }),
    ),
    currency,
    effectiveAt: time,
    createdAt: time,
  })
  .meta({ id: 'Transaction', description: 'One business event: each posting moves an amount between two accounts' });

export const statementLine = z
  .object({
    id: lineId,
    transactionId: publicIdOf('transaction'),
    kind: z
      .enum(Object.keys(ENTRY_KINDS) as EntryKind[])
      .describe('What moved the money: see the contract, section 4.4'),
    resourceId: anyPublicId.describe('The resource whose movement this is'),
    payoutItemId: publicIdOf('payoutItem').nullable().describe('Of a payout: the item whose amount this is'),
    direction: z.enum(['credit', 'debit']),
    component,
    amount: kobo,
    counterparty: z
      .object({
        walletId: publicIdOf('wallet').nullable(),
        name: z.string().nullable(),
        accountNumber: z.string().nullable(),
        bankCode: z.string().nullable(),
      })
      .nullable()
      .describe('The other side: a wallet, or an account at a bank'),
    description: z.string().nullable().describe('Your description, narration or reason of the resource'),
    reference: z.string().nullable().describe('Your own reference of the resource'),
    balanceAfter: kobo,
    currency,
    effectiveAt: time,
    createdAt: time,
  })
  .meta({ id: 'StatementLine' });

export const walletStatement = z
  .object({
    walletId: publicIdOf('wallet'),
    month: z.string().describe('Such as `2026-01`: from midnight to midnight in Lagos'),
    openingBalance: kobo,
    closingBalance: kobo.describe('At the end of the month; of this month: now'),
    isComplete: z.boolean().describe('Whether the month is over, so that nothing is added to it'),
    currency,
  })
  .meta({ id: 'WalletStatement' });
