// Statements that do not keep the rules of distribution.ts, and why.

interface Exception {
  files: string[];
  problem: string;
  reason: string;
}

export const EXCEPTIONS: Exception[] = [
  {
    files: [
      'src/ledger/bookChecks.ts',
      'src/ledger/transactions.ts',
      'src/ledger/sql/accounting.sql',
      'src/ledger/sql/first_posting_since.sql',
      'src/ledger/sql/last_posting.sql',
      'src/ledger/sql/post.sql',
      'src/ledger/sql/seal.sql',
      'src/resources/transfers/queries.ts',
      'src/resources/wallets/statement.ts',
      'src/verification/bankBalances.ts',
      'src/verification/seals.ts',
    ],
    problem: 'ORDER BY has the identity of ledger.postings',
    reason: 'the order of the postings of an account is that of their ids, while an organisation stays on its node',
  },
  {
    files: ['src/ledger/bookChecks.ts', 'src/ledger/sql/accounting.sql'],
    problem: 'ORDER BY has the identity of ledger.accounts',
    reason: 'pages of accounts, of which each must come once, in whatever order',
  },
  {
    files: ['src/ledger/sql/post.sql'],
    problem: 'a subquery reads a table for each row of a, which is no table',
    reason: 'the accounts of the platform that a batch is the first to use',
  },
  {
    files: ['src/reconciliation/clearing.ts'],
    problem: 'ledger.first_posting_since is called beside a table',
    reason: 'finds the ids of a period, account by account',
  },
  {
    files: ['src/ledger/reports.ts'],
    problem: 'ledger.last_posting_before is called beside a table',
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
  {
    files: ['src/ledger/sql/accounting.sql'],
    problem: 'an UPDATE or DELETE evaluates clock_timestamp for its rows',
    reason: 'the end of a day',
  },
  {
    files: ['src/ledger/sql/accounting.sql'],
    problem: 'ledger.first_day is called beside a table',
    reason: 'the end of a month, which operators run',
  },
];

/** Functions in SQL that read or write a table: of reports and the end of a month, and one for earlier processes. */
export const FUNCTIONS_IN_SQL = ['first_day', 'last_posting_before', 'verify_account'];
