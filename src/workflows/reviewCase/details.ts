// The current details of an open review case in the Temporal UI. Ids, amounts and codes only: a bank's own messages may
// contain personal data, so they stay in the database, and the command line shows them.
import { nairaText } from '../../money.ts';
import { decisionForm, type Proposal, proposalText } from '../operators/details.ts';
import { choicesOf } from './decide.ts';
import type { BreakFacts, ReviewAction, ReviewCaseInput, ReviewCaseSnapshot } from './messages.ts';

const CHOICES: Record<ReviewAction, string> = {
  credit:
    'post the money to the wallet that it was sent to, or to `walletId`; another wallet, or a large amount, needs two ' +
    'operators',
  return_to_sender: 'send the money back to the bank account that it came from',
  move_to_unclaimed: 'book the money as unclaimed, because its owner cannot be found',
  close: 'close the case and post nothing; `evidence` says how it was settled',
  retry: 'query the rail again; if it confirms the credit now, the credit is processed as if it had just arrived',
};

const FAILURES: Record<NonNullable<ReviewCaseSnapshot['failure']>, string> = {
  refused: 'the bank refused it',
  returned: 'the bank sent it, and it was returned',
  never_received: 'the bank never received it',
  decided: "operators decided that it failed, without the bank's confirmation",
};

const BREAKS: Record<string, string> = {
  unmatched_ledger: "The ledger has this line, the rail's statement does not",
  unmatched_statement: "The rail's statement has this line, and no resource of ours has its reference",
  status:
    "The rail's statement has this line; our resource exists, but its status differs and the ledger has no such line",
  amount: 'Both sides have this line, with different amounts',
  duplicate: 'One side has this line more than once',
  unreadable: "A row of the rail's statement cannot be read; `reviews show` prints it",
  balance: 'The balance at the rail is not what the ledger explains',
  reversal: 'The rail says that it took this back, and we know no such credit',
};

/** `paidAfterAll`: the rail now reports that the last attempt, which is posted as failed, was paid. */
export function describeCase(
  input: ReviewCaseInput,
  snapshot: ReviewCaseSnapshot,
  paidAfterAll: boolean,
  proposal: Proposal | null = null,
): string {
  const choices = choicesOf(input.reason);
  const example = choices.includes('close')
    ? { action: 'close', reason: 'the bank booked it back', evidence: 'ticket 1234' }
    : { action: 'credit', reason: 'the customer called' };
  return [
    ...describe(input, snapshot, paidAfterAll),
    ...(proposal === null ? [] : ['', proposalText(proposal)]),
    '',
    ...decisionForm(
      'the update **resolveCase**',
      Object.fromEntries(choices.map((choice) => [choice, CHOICES[choice]])),
      example,
    ),
  ].join('\n');
}

function describe(input: ReviewCaseInput, snapshot: ReviewCaseSnapshot, paidAfterAll: boolean): string[] {
  if (snapshot.break !== null) return describeBreak(snapshot.break);
  const withoutMoney = WITHOUT_MONEY[input.reason];
  const paragraphs = withoutMoney ? [withoutMoney(input, snapshot)] : describeMoney(input, snapshot, paidAfterAll);
  return [`**Needs attention: review** (${input.reason})`, ...paragraphs.flatMap((paragraph) => ['', paragraph])];
}

/** The cases that hold no money, by reason. */
const WITHOUT_MONEY: Readonly<Record<string, (input: ReviewCaseInput, snapshot: ReviewCaseSnapshot) => string>> = {
  credit_recalled: ({ amount, walletId }) => {
    const owes =
      walletId === undefined
        ? 'the bank owes what is booked in receivable:bank'
        : `the owner of ${walletId} owes what is booked in receivable:wallet:${walletId}`;
    return (
      `The bank has taken a credit back, and **${nairaText(amount)} of it is missing**: ${owes}. Claim it, or book it as ` +
      'a loss by an adjustment. If the recall was set aside because the bank did not confirm it, nothing was posted: ' +
      'ask the bank in writing.'
    );
  },
  paid_after_failure: ({ amount, walletId }, { transfer }) =>
    `The bank has paid ${transfer}, which it had reported as failed. The money that had gone back was taken from ` +
    `${walletId} again, up to its balance. **${nairaText(amount)} is missing** and is booked in receivable:bank. Ask ` +
    'the bank in writing. If it keeps the money, book the missing amount as a loss by an adjustment.',
  credit_unconfirmed: ({ amount, walletId, transferId }) =>
    `The rail reported ${nairaText(amount)}${walletId === undefined ? '' : ` for ${walletId}`} and did not confirm it. ` +
    'Nothing was posted, and this case holds no money. Ask the bank in writing whether the money arrived; for its ' +
    `session id, run \`npm run cli -- reviews show ${transferId}\`.`,
};

function describeMoney(
  { amount, walletId, transferId }: ReviewCaseInput,
  { attempts, failure, reference, fee, lateBySeconds }: ReviewCaseSnapshot,
  paidAfterAll: boolean,
): string[] {
  return [
    `${nairaText(amount)} is in suspense${walletId === undefined ? '' : `; it was sent to ${walletId}`}. ` +
      'It stays there until an operator decides.',
    ...(lateBySeconds === undefined
      ? []
      : [
          lateBySeconds === 0
            ? 'The bank received it in time; it was reported after the payment had ended.'
            : `The bank received it ${lateBySeconds} seconds after the payment's expiresAt.`,
        ]),
    ...(fee > 0
      ? [`Credited to the wallet of its payment, ${nairaText(fee)} are charged, as on time; \`waiveFee\` waives it.`]
      : []),
    ...(failure === null
      ? []
      : [
          `Attempt ${attempts} to send it back (reference ${reference}) failed: ${FAILURES[failure]}. ` +
            `For the bank's message, run \`npm run cli -- reviews show ${transferId}\`.`,
        ]),
    ...(paidAfterAll
      ? [
          `**The bank now reports that it paid ${reference} after all.** return_to_sender follows that reference and ` +
            'sends nothing again; credit and move_to_unclaimed are refused.',
        ]
      : []),
  ];
}

const amountText = (amount: number | null): string => (amount === null ? 'none' : nairaText(amount));

function describeBreak({ kind, line, rail, reference, at, clearedAt, ...amounts }: BreakFacts): string[] {
  return [
    `**Needs attention: reconciliation_break** (${kind})`,
    '',
    `${BREAKS[kind] ?? kind}. This case holds no money and repairs nothing: correct the cause, then close the case.`,
    '',
    '| | |',
    '|---|---|',
    `| line | ${line} ${reference} |`,
    `| rail | ${rail} |`,
    `| at | ${at} |`,
    `| ledger amount | ${amountText(amounts.ledgerAmount)} |`,
    `| statement amount | ${amountText(amounts.statementAmount)} |`,
    `| seen | ${clearedAt === null ? 'by the last run of this period' : `no longer, since the run of ${clearedAt}`} |`,
  ];
}
