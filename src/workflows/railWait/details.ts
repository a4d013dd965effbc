// What an operator reads about a flow whose credits the rail does not confirm, or whose account it does not close.
import type { ParkedView } from '../attention/park.ts';
import type { IncompleteWork, RailRequest, RailWait } from './decide.ts';

const HAPPENED: Record<RailRequest['cause'], string> = {
  credit_unconfirmed:
    'The rail has reported money and does not confirm it when it is asked, for longer than the limit. Nothing of it is posted. Everything else about this flow goes on, and the rail is still asked, ever more seldom.',
  rail_unreachable:
    'The rail has not answered for longer than the limit. Everything else about this flow goes on, and the rail is still asked, ever more seldom.',
};

const WHY: Record<NonNullable<IncompleteWork['why']>, string> = {
  not_known: 'it knows no such credit',
  differs: 'it tells another amount or account than its callback did',
  not_configured: 'it is not configured any more',
};

export function requestView({ cause, parked, choices }: RailRequest): ParkedView {
  return {
    summary: HAPPENED[cause],
    lastResponse: { of: 'rail', words: [...new Set(parked.map(wordsOf))].join('; ') },
    fundsAtRisk: parked.map(stakeOf).join(', '),
    choices,
  };
}

/** One line for each thing that waits for the rail. */
export function describeWaits(waits: readonly RailWait[]): string[] {
  return waits.map(
    (wait) => `- ${stakeOf(wait)}: ${wordsOf(wait)}. Asked again at ${new Date(wait.nextAt).toISOString()}.`,
  );
}

function wordsOf({ last: { rail, why } }: RailWait): string {
  if (rail === 'unreachable') return 'none: it cannot be reached';
  return why === undefined ? 'it does not confirm the credit' : WHY[why];
}

const stakeOf = ({ last: { id, what, amount } }: RailWait): string =>
  what === 'credit' ? `credit ${id} of ${amount} kobo` : `the account of ${id}, which stays open`;
