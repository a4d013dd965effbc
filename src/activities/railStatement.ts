// The rail of a book as reconciliation sees it: its statement, and what it answers about single lines.
import type { Journal } from '../ledger/journal.ts';
import type { Book } from '../money.ts';
import type { BankRail } from '../rail/port.ts';
import type { Bank } from '../reconciliation/reconcile.ts';
import { receiveCredit } from '../resources/inboundCredits/receive.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import type { ActivityDependencies } from './dependencies.ts';

export function bankOf(
  dependencies: Pick<ActivityDependencies, 'sql'> & { journal: Journal },
  book: Book,
  rail: BankRail,
  onPage: () => void,
): Bank {
  const { organisationId } = book;
  return {
    name: rail.name,
    hasHistory: true,

    async readStatement(period) {
      const lines = [];
      for (let cursor: string | null = null; ; ) {
        const page = await rail.statement({ organisationId, ...period, cursor });
        lines.push(...page.lines);
        onPage();
        cursor = page.nextCursor;
        if (cursor === null) return { lines, closingBalance: page.closingBalance };
      }
    },

    async isKnown({ kind, reference }) {
      if (kind === 'credit') return (await rail.findInboundCredit({ organisationId, sessionId: reference })) !== null;
      if (kind !== 'sent' && kind !== 'returned') return false;
      const report = await rail.transferStatus({ organisationId, reference });
      return report?.status === 'returned' || (kind === 'sent' && report?.status === 'completed');
    },

    async receiveCredit(sessionId) {
      const report = await rail.findInboundCredit({ organisationId, sessionId });
      if (report === null) return;
      if (await receiveCredit(dependencies, book, rail.name, report)) creditsRecovered.inc({ rail: rail.name });
    },
  };
}
