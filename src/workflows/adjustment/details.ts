// The current details of an adjustment in the Temporal UI. Ids, amounts and codes only; the command line shows reason
// and evidence, which may name persons.
import { nairaText } from '../../money.ts';
import { decisionForm } from '../operators/details.ts';
import { ACTIONS } from './decide.ts';
import type { AdjustmentInput, AdjustmentSnapshot } from './messages.ts';

/** `refusal`: why the ledger refused the last approval. */
export function describeAdjustment(
  { adjustmentId }: AdjustmentInput,
  { postings, reverses, requestedBy }: AdjustmentSnapshot,
  refusal: string | null,
): string {
  return [
    '**Needs attention: adjustment**',
    '',
    `Requested by ${requestedBy}${reverses === null ? '' : `, to reverse ${reverses}`}. For reason and evidence, run ` +
      `\`npm run cli -- adjustments show ${adjustmentId}\`. Nothing is posted until another operator approves.`,
    '',
    '| debit | credit | amount |',
    '|---|---|---|',
    ...postings.map(({ debit, credit, amount }) => `| ${debit} | ${credit} | ${nairaText(amount)} |`),
    ...(refusal === null ? [] : ['', `**The last approval failed.** ${refusal}`]),
    '',
    ...decisionForm('the update **decide**', ACTIONS, { action: 'approve', reason: "agrees with the bank's letter" }),
  ].join('\n');
}
