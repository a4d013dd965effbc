// What an operator reads about an open review case in the Temporal UI. Ids, amounts and codes only: a bank's own words may
// name a person, so they stay in the database and are read by the command line.
import { choicesOf } from './decide.ts';
import type { BreakFacts, ReviewAction, ReviewCaseInput, ReviewCaseSnapshot } from './messages.ts';

const CHOICES: Record<ReviewAction, string> = {
  credit: 'into the wallet that it came for, or into `walletId`',
  return_to_sender: 'to the bank account that it came from',
  move_to_unclaimed: 'as unclaimed money, when nobody can say whose it is',
  close: 'nothing is open any more; `evidence` says what it was settled with. Posts nothing',
  retry: 'ask the rail again; if it confirms the credit now, it is taken in as if it had just come',
};

const FAILURES: Record<NonNullable<ReviewCaseSnapshot['failure']>, string> = {
  refused: 'the bank refused it',
  returned: 'the bank sent it, and it came back',
  never_received: 'the bank never received it',
  decided: 'operators decided that it failed, without the bank’s word',
};

const BREAKS: Record<string, string> = {
  unmatched_ledger: 'Our books have it, the rail’s statement does not show it',
  unmatched_statement: 'The rail’s statement shows it, and we know of no such thing',
  status: 'The rail’s statement shows it, and our resource stands otherwise',
  amount: 'Both sides have it, by different amounts',
  duplicate: 'It is there once more than it may be',
};

/** `paidAfterAll`: the rail now says that the last attempt, which is thought to have failed, was paid. */
export function describeCase(input: ReviewCaseInput, standing: ReviewCaseSnapshot, paidAfterAll: boolean): string {
  const choices = choicesOf(input.reason);
  const example = choices.includes('close')
    ? '{"action": "close", "reason": "the bank booked it back", "evidence": "ticket 1234", "operator": "you"}'
    : '{"action": "credit", "reason": "the customer called", "operator": "you"}';
  return [
    ...describe(input, standing, paidAfterAll),
    '',
    `Send the update **resolveCase** with ${choices.length === 1 ? 'this action' : 'one of these actions'}:`,
    '',
    '| action | what it does |',
    '|---|---|',
    ...choices.map((choice) => `| ${choice} | ${CHOICES[choice]} |`),
    '',
    '```json',
    example,
    '```',
  ].join('\n');
}

function describe(input: ReviewCaseInput, standing: ReviewCaseSnapshot, paidAfterAll: boolean): string[] {
  if (standing.break !== null) return describeBreak(standing.break);
  return input.reason === 'credit_unconfirmed'
    ? describeUnconfirmed(input)
    : describeMoney(input, standing, paidAfterAll);
}

function describeUnconfirmed({ amount, walletId, transferId }: ReviewCaseInput): string[] {
  return [
    '**Needs attention: review** (credit_unconfirmed)',
    '',
    `The rail reported ${amount} kobo${walletId === undefined ? '' : ` for ${walletId}`}, and did not confirm them. Nothing was posted, and this case holds no money. Ask the bank in writing whether the money came; its session id: \`npm run cli -- reviews show ${transferId}\`.`,
  ];
}

function describeMoney(
  { reason, amount, walletId, transferId }: ReviewCaseInput,
  { attempts, failure, reference }: ReviewCaseSnapshot,
  paidAfterAll: boolean,
): string[] {
  return [
    `**Needs attention: review** (${reason})`,
    '',
    `${amount} kobo wait in suspense${walletId === undefined ? '' : `; they came for ${walletId}`}. Nothing about them changes until somebody decides.`,
    ...(failure === null
      ? []
      : [
          '',
          `Attempt ${attempts} to send it back (reference ${reference}) failed: ${FAILURES[failure]}. The bank’s own words: \`npm run cli -- reviews show ${transferId}\`.`,
        ]),
    ...(paidAfterAll
      ? [
          '',
          `**The bank now says that it paid ${reference} after all.** return_to_sender follows that reference and sends nothing anew; credit and keep are refused.`,
        ]
      : []),
  ];
}

const says = (amount: number | null): string => (amount === null ? 'nothing' : `${amount} kobo`);

function describeBreak({
  kind,
  line,
  rail,
  reference,
  ledgerAmount,
  statementAmount,
  at,
  clearedAt,
}: BreakFacts): string[] {
  return [
    `**Needs attention: reconciliation_break** (${kind})`,
    '',
    `${BREAKS[kind] ?? kind}. This case holds no money, and nothing is repaired by it: put right what is behind it, then say so.`,
    '',
    '| | |',
    '|---|---|',
    `| line | ${line} ${reference} |`,
    `| rail | ${rail} |`,
    `| at | ${at} |`,
    `| our books say | ${says(ledgerAmount)} |`,
    `| the rail’s statement says | ${says(statementAmount)} |`,
    `| seen | ${clearedAt === null ? 'by the last run that looked' : `no longer, since the run of ${clearedAt}`} |`,
  ];
}
