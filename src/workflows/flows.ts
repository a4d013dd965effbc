// What every flow has in common: the scope that its input names, and the outbox message that starts or wakes it. Ids,
// amounts and codes only: nothing here may name a person, because it is kept in workflow histories.
import type { Book, Environment, Kobo } from '../money.ts';

/** The start of every flow's input. `organisationId` is the UUID of the book; other ids are public. */
export interface FlowScope {
  organisationId: string;
  environment: Environment;
  walletId?: string;
  /** The money at stake, in kobo. */
  amount?: Kobo;
}

export const bookOf = ({ organisationId, environment }: FlowScope): Book => ({ organisationId, environment });

/** What the relay does: start this workflow unless it runs, and give it the signal if there is one. */
export interface FlowMessage {
  /** Workflow type, a noun. */
  workflow: string;
  /** Workflow id: the public id of the resource. */
  id: string;
  /** One line that names the flow in the Temporal UI. */
  summary: string;
  /** What FlowState says when the flow starts. */
  state: string;
  input: FlowScope;
  signal?: { name: string; payload: unknown };
  /** A flow that ended is started anew: its work was opened again, or it was ended before its work was done. */
  allowRestart?: true;
  /** The queue that it runs on, where that is not the common one. */
  queue?: FlowQueue;
}

/** Flows that come by the thousand have a queue of their own, so that a payment never stands behind them. */
export type FlowQueue = 'payouts';

/** The name of a queue in Temporal: the common one's, with a suffix for any other. */
export function taskQueueOf(common: string, queue: FlowQueue | undefined): string {
  return queue === undefined ? common : `${common}-${queue}`;
}

/** Topic of the outbox rows that the relay turns into workflow starts and signals. */
export const FLOW_TOPIC = 'flow';

/** The outbox row by which the relay starts or signals a flow. */
export interface FlowOutboxMessage {
  topic: typeof FLOW_TOPIC;
  message: FlowMessage;
}

export const toOutbox = (message: FlowMessage): FlowOutboxMessage => ({ topic: FLOW_TOPIC, message });

/** The same, started again though an earlier run of the flow has ended. */
export const restarted = ({ message }: FlowOutboxMessage): FlowOutboxMessage =>
  toOutbox({ ...message, allowRestart: true });
