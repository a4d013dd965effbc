// The rail of a book as reconciliation sees it: its statement, and what it reports of single lines.
import { parseId } from '../ids.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book } from '../money.ts';
import type { BankRail, InboundCreditRecord, StatementLine } from '../rail/port.ts';
import type { BankLine } from '../reconciliation/lines.ts';
import type { Bank } from '../reconciliation/reconcile.ts';
import { importCredit } from '../resources/inboundCredits/receive.ts';
import { chargeReference } from '../resources/rails/accounts.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import type { ActivityDependencies } from './dependencies.ts';

const hasTwoBalances = ({ capabilities }: BankRail): boolean => capabilities.credits.settles === 'later';

/** What a line of the rail is to our books. */
function kindOf(rail: BankRail, { kind, reference }: Pick<StatementLine, 'kind' | 'reference'>): BankLine['kind'] {
  if (kind === 'settlement' && hasTwoBalances(rail)) return 'settled';
  return kind === 'sent' && parseId('railCheck', reference) !== null ? 'check' : kind;
}

/** A line of the rail as reconciliation compares it. A charge that the rail took for it is a line of its own. */
function linesOf(rail: BankRail, { charge, ...line }: StatementLine): BankLine[] {
  const kind = kindOf(rail, line);
  const own: BankLine = { ...line, kind };
  return charge === 0 ? [own] : [own, { ...line, kind: 'charge', reference: chargeReference(own), amount: charge }];
}

/** Whether the rail has received the credit. */
const isReceived = (found: InboundCreditRecord | 'pending' | 'failed' | null): found is InboundCreditRecord =>
  found !== null && typeof found === 'object';

export function bankOf(
  dependencies: Pick<ActivityDependencies, 'sql'> & { journal: Journal },
  book: Book,
  rail: BankRail,
  onPage: () => void,
): Bank {
  const { organisationId } = book;
  return {
    book,
    rail: rail.name,
    hasHistory: true,

    async readStatement(period) {
      const lines: BankLine[] = [];
      for (let cursor: string | null = null; ; ) {
        const page = await rail.statement({ organisationId, ...period, cursor });
        lines.push(...page.lines.flatMap((line) => linesOf(rail, line)));
        onPage();
        cursor = page.nextCursor;
        // No provider reports one balance for the two accounts that it keeps.
        const closingBalance = hasTwoBalances(rail) ? null : page.closingBalance;
        if (cursor === null) return { lines, closingBalance };
      }
    },

    async isKnown({ kind, reference }) {
      if (kind === 'credit')
        return isReceived(
          await rail.findInboundCredit({ organisationId, sessionId: reference, accountReference: null }),
        );
      if (kind !== 'sent' && kind !== 'returned') return false;
      const report = await rail.transferStatus({ organisationId, reference });
      return report?.status === 'returned' || (kind === 'sent' && report?.status === 'completed');
    },

    async receiveCredit(sessionId) {
      const found = await rail.findInboundCredit({ organisationId, sessionId, accountReference: null });
      if (!isReceived(found)) return;
      const { recalledAt: _recalledAt, ...report } = found;
      if (await importCredit(dependencies, book, rail.name, report)) creditsRecovered.inc({ rail: rail.name });
    },
  };
}
