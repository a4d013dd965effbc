// What an operator reads about credits that the rail does not confirm, or an account that it does not close.
import { nairaText } from '../../money.ts';
import type { ParkedView } from '../attention/park.ts';
import type { IncompleteWork, RailRequest, RailWait } from './decide.ts';

const SUMMARIES: Record<RailRequest['cause'], string> = {
  credit_unconfirmed:
    'The rail has reported money and not confirmed it for longer than the limit. Nothing of it is posted. The flow ' +
    'continues with everything else, and still queries the rail, at least once an hour.',
  rail_unreachable:
    'The rail has not responded for longer than the limit. The flow continues with everything else, and still ' +
    'queries the rail, at least once an hour.',
};

const WHY: Record<NonNullable<IncompleteWork['why']>, string> = {
  not_known: 'it does not know the credit',
  pending: 'it has not finished the credit',
  failed: 'it says that the credit never arrived',
  recalled: 'it has taken the credit back',
  not_recalled: 'it has not taken the credit back',
  not_configured: 'it is no longer configured',
};

export function requestView({ cause, parked, choices }: RailRequest): ParkedView {
  return {
    summary: SUMMARIES[cause],
    lastResponse: { of: 'rail', text: [...new Set(parked.map(responseOf))].join('; ') },
    fundsAtRisk: parked.map(stakeOf).join(', '),
    choices,
  };
}

/** One line for each thing that waits for the rail. */
export function describeWaits(waits: readonly RailWait[]): string[] {
  return waits.map(
    (wait) =>
      `- ${stakeOf(wait)}. Last response: ${responseOf(wait)}. Next query at ${new Date(wait.nextAt).toISOString()}.`,
  );
}

function responseOf({ last: { rail, why } }: RailWait): string {
  if (rail === 'unreachable') return 'none (unreachable)';
  return why === undefined ? 'it does not confirm the credit' : WHY[why];
}

const stakeOf = ({ last: { id, what, amount } }: RailWait): string =>
  what === 'credit' ? `credit ${id} of ${nairaText(amount)}` : `the account number of ${id}, which stays open`;
