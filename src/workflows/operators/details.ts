// What the Temporal UI shows operators about a decision.

/** A decision that waits for a second operator, as it is shown; the database has the one that counts. */
export interface Proposal {
  /** The operator's public id. */
  operator: string;
  decision: string;
  reason: string;
}

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

export const proposalText = ({ operator, decision, reason }: Proposal): string =>
  `**Proposed by ${operator}: ${decision}** (${reason}). It takes effect when a second operator sends the same.`;

/** How to get the code of a message. */
export const CODE_TEXT =
  'The code proves who you are. To get one, run `npm run cli -- operators code` with the id of this workflow and the ' +
  'action, and with the wallet if you name one.';
