// What the Temporal UI shows operators about a decision.
import type { Decided } from './decide.ts';

/** The accepted actions, each with its effect, and an example of the message. `send`: what to send. */
export function decisionForm(send: string, choices: Readonly<Record<string, string>>, example: object): string[] {
  const actions = Object.entries(choices);
  return [
    `Send ${send} with ${actions.length === 1 ? 'this action' : 'one of these actions'}:`,
    '',
    '| action | effect |',
    '|---|---|',
    ...actions.map(([action, effect]) => `| ${action} | ${effect} |`),
    '',
    '```json',
    JSON.stringify({ ...example, code: 'xxxx-xxxx-xxxx' }, null, 1).replaceAll(/\n */g, ' '),
    '```',
    '',
    CODE_TEXT,
  ];
}

/** A decision that waits for a second operator. */
export function proposalText({ operator, decision, reason }: Decided): string {
  return `**Proposed by ${operator}: ${decision}** (${reason}). It takes effect when a second operator sends the same.`;
}

/** How to get the code of a message. */
export const CODE_TEXT =
  'The code says who you are. To get one, run `npm run cli -- operators code` with the id of this workflow.';
