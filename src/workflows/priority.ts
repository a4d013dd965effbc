// The order in which Temporal hands waiting tasks to workers: by priority, and among equal ones in turns between the
// organisations. Activities and child workflows inherit it from their workflow.
import type { Priority } from '@temporalio/common';
import type { Book, Environment } from '../money.ts';

/** Temporal's priority keys: 1 first, 5 last. Sandbox flows come after all live ones: they move no real money. */
const PRIORITY_KEYS = {
  live: {
    /** A payer, a customer or an operator waits for the result. */
    urgent: 1,
    /** Money of a batch, which may have a thousand transfers. */
    batch: 2,
    /** Moves no money that a person waits for, can come by the ten thousand, and may be late by minutes. */
    background: 3,
  },
  test: { urgent: 4, batch: 5, background: 5 },
} as const;

const CLASSES = {
  payment: 'urgent',
  inboundCredit: 'urgent',
  withdrawal: 'urgent',
  refund: 'urgent',
  hold: 'urgent',
  recall: 'urgent',
  reviewCase: 'urgent',
  adjustment: 'urgent',
  railResume: 'urgent',
  payout: 'batch',
  payoutItem: 'batch',
  sweep: 'background',
  failingFlows: 'background',
  retention: 'background',
  ledgerSealing: 'background',
  ledgerVerification: 'background',
  reconciliation: 'background',
  creditPolling: 'background',
  dayProof: 'background',
} satisfies Record<string, keyof (typeof PRIORITY_KEYS)['live']>;

/** The workflow types. */
export type FlowType = keyof typeof CLASSES;

/** Whose flow it is. The flows of Schedules cover all books, and those of a rail all organisations. */
interface FlowOwner {
  environment: Environment;
  /** The public id, which may be read in Temporal. */
  organisationId: string | null;
}

const ALL_BOOKS: FlowOwner = { environment: 'live', organisationId: null };

/** Of an outbox message: which flow it starts, whether with a signal, and whether again. */
interface Start {
  workflow: FlowType;
  signal?: unknown;
  allowRestart?: true;
}

export function priorityOf(message: Start, owner = ALL_BOOKS): Priority {
  const { environment, organisationId } = owner;
  const priorityKey = PRIORITY_KEYS[environment][expires(message) ? 'background' : CLASSES[message.workflow]];
  return organisationId === null ? { priorityKey } : { priorityKey, fairnessKey: organisationId };
}

/** Without a signal a payment has no money: the flow expires it. One that starts again may have a part. */
const expires = ({ workflow, signal, allowRestart }: Start): boolean =>
  workflow === 'payment' && signal === undefined && allowRestart !== true;

/** For a background activity of a flow with a higher priority, such as the expiry of a payment. */
export const inBackground = ({ environment }: Pick<Book, 'environment'>): Priority => ({
  priorityKey: PRIORITY_KEYS[environment].background,
});

/**
 * Whether a person or a bank waits for the effect of an outbox message. The start of a payout is one message, and its
 * transfers are the batch.
 */
export const isUrgent = (message: Start): boolean =>
  message.workflow === 'payout' || (CLASSES[message.workflow] === 'urgent' && !expires(message));
