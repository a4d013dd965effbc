// The rail of a book as reconciliation sees it: its statement, and what it reports of single lines.
import { parseId } from '../ids.ts';
import type { Keyring } from '../keyring.ts';
import { clearingAccount } from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book } from '../money.ts';
import { nullIfUnclear } from '../rail/errors.ts';
import { statementOf } from '../rail/pages.ts';
import type { BankRail, InboundCreditRecord, StatementLine } from '../rail/port.ts';
import type { ReportedAccount } from '../reconciliation/balance.ts';
import { type BankLine, signedAmount } from '../reconciliation/lines.ts';
import type { Bank } from '../reconciliation/reconcile.ts';
import { wakeTransfer } from '../resources/bankTransfers/wake.ts';
import { importCredit } from '../resources/inboundCredits/receive.ts';
import { chargedAccount, chargeReference, payoutAccount } from '../resources/rails/accounts.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import type { ActivityDependencies } from './dependencies.ts';

const HOUR_MS = 3_600_000;

const hasTwoBalances = ({ capabilities }: BankRail): boolean => capabilities.credits.settles === 'later';

/** What a line of the rail is to our books. */
function kindOf(rail: BankRail, { kind, reference }: Pick<StatementLine, 'kind' | 'reference'>): BankLine['kind'] {
  if (kind === 'settlement' && hasTwoBalances(rail)) return 'settled';
  return kind === 'sent' && parseId('railCheck', reference) !== null ? 'check' : kind;
}

/** A line of the rail as reconciliation compares it. A charge that it took for it, or gave back, is a line too. */
function linesOf(rail: BankRail, { charge, row: _row, ...line }: StatementLine): BankLine[] {
  const own: BankLine = { ...line, kind: kindOf(rail, line) };
  if (charge === 0) return [own];
  const kind = charge > 0 ? 'charge' : 'charge_returned';
  return [own, { ...line, kind, reference: chargeReference(own), amount: Math.abs(charge) }];
}

/** Whether the rail has received the credit. */
const isReceived = (found: InboundCreditRecord | 'pending' | 'failed' | null): found is InboundCreditRecord =>
  found !== null && typeof found === 'object';

/**
 * The balances that the books are compared with: what the rail reports as what it pays from, unless its statement has a
 * balance; and what it has collected, where that is settled later, which no provider reports.
 */
function accountsOf(rail: BankRail, { organisationId }: Book): ReportedAccount[] {
  if (!rail.capabilities.transfers.balance) return [];
  const payout = payoutAccount(rail.name);
  const clearing = clearingAccount(rail.name);
  const read = () => rail.balance({ organisationId });
  if (payout === clearing) return [{ account: payout, read, changeBy: signedAmount }];
  const accountOf = (line: BankLine): string => {
    if (line.kind.startsWith('charge')) return chargedAccount({ rail: rail.name, reference: line.reference });
    return line.kind === 'credit' || line.kind === 'recalled' ? clearing : payout;
  };
  const changeOf = (account: string) => (line: BankLine) => {
    if (line.kind === 'settled') return account === payout ? line.amount : -line.amount;
    return accountOf(line) === account ? signedAmount(line) : 0;
  };
  return [
    { account: payout, read, changeBy: changeOf(payout) },
    { account: clearing, read: null, changeBy: changeOf(clearing) },
  ];
}

export function bankOf(
  dependencies: Pick<ActivityDependencies, 'sql'> & { journal: Journal; keyring: Keyring },
  book: Book,
  rail: BankRail,
  onPage: () => void,
): Bank {
  const { organisationId } = book;
  const { changeForMs } = rail.capabilities.lists;
  // A record that cannot be read says nothing about its line, and stops the comparison of no other.
  const findCredit = (sessionId: string) =>
    nullIfUnclear(rail.findInboundCredit({ organisationId, sessionId, accountReference: null }));
  return {
    book,
    rail: rail.name,
    hasHistory: true,
    // Periods overlap by an hour.
    changeForMs: changeForMs > HOUR_MS ? changeForMs : 0,
    accounts: accountsOf(rail, book),

    async readStatement(period) {
      const { lines, unread, closingBalance } = await statementOf(rail, { organisationId, ...period }, { onPage });
      return {
        lines: lines.flatMap((line) => linesOf(rail, line)),
        unread,
        // No provider reports one balance for the two accounts that it keeps.
        closingBalance: hasTwoBalances(rail) ? null : closingBalance,
      };
    },

    async isKnown({ kind, reference }) {
      if (kind === 'credit' || kind === 'recalled') {
        const found = await findCredit(reference);
        return isReceived(found) && (kind === 'credit' || found.recalledAt !== null);
      }
      if (kind !== 'sent' && kind !== 'returned') return false;
      const report = await nullIfUnclear(rail.transferStatus({ organisationId, reference }));
      return report?.status === 'returned' || (kind === 'sent' && report?.status === 'completed');
    },

    async receiveCredit(sessionId) {
      const found = await findCredit(sessionId);
      if (!isReceived(found)) return;
      if (await importCredit(dependencies, book, rail.name, found)) creditsRecovered.inc({ rail: rail.name });
    },

    wakeTransfer: (reference) => wakeTransfer(dependencies.sql, book, reference),

    seal: (id, text) => dependencies.keyring.seal('rail-row', id, text),
  };
}
