// Statements that do not keep the rules of distribution.ts, and why.

interface Exception {
  files: string[];
  problem: string;
  reason: string;
}

export const EXCEPTIONS: Exception[] = [
  {
    files: ['src/ledger/bookChecks.ts', 'src/ledger/sql/accounting.sql'],
    problem: 'ORDER BY has the identity of ledger.accounts',
    reason: 'pages of accounts, of which each must come once, in whatever order',
  },
  {
    files: ['src/reconciliation/clearing.ts'],
    problem: 'ledger.first_entry_since is called beside a table',
    reason: 'finds the numbers of a period, account by account',
  },
  {
    files: ['src/ledger/reports.ts'],
    problem: 'ledger.last_number_before is called beside a table',
    reason: 'reports for accountants, which operators run',
  },
  {
    files: ['src/ledger/reports.ts', 'src/ledger/sql/accounting.sql'],
    problem: 'ledger.balances_before is called beside a table',
    reason: 'reports for accountants and the end of a month, which operators run',
  },
  {
    files: ['src/ledger/reports.ts'],
    problem: 'a subquery reads a table for each row of b, which is no table',
    reason: 'reports for accountants, which operators run',
  },
];

/** Functions in SQL that read or write a table: of reports and the end of a month, and two for earlier processes. */
export const FUNCTIONS_IN_SQL = ['first_day', 'last_final_posting', 'last_number_before', 'verify_account'];
