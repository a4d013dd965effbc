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
    files: ['src/resources/wallets/queries.ts'],
    problem: 'RETURNING has $1',
    reason: 'the columns of wallets, of which none is a function',
  },
];
