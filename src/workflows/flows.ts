// What every flow shares: the scope that its input begins with, and the outbox message that starts or signals it. Ids,
// amounts and codes only, no personal data: these values are stored in workflow histories.
import type { Book, Environment, Kobo } from '../money.ts';
import { type FlowType, isUrgent } from './priority.ts';

/** The fields that every flow's input begins with. `organisationId` is the UUID; all other ids are public ids. */
export interface FlowScope {
  organisationId: string;
  environment: Environment;
  walletId?: string;
  amount?: Kobo;
}

export type InstallationScope = Pick<FlowScope, 'environment'> & Partial<Omit<FlowScope, 'environment'>>;

export const bookOf = ({ organisationId, environment }: FlowScope): Book => ({ organisationId, environment });

/** The result of a flow: the status that its resource has at the end. */
export interface FlowResult<Status = string> {
  status: Status;
}

/** An instruction to the relay: start this workflow unless it is running, and send it the signal, if there is one. */
export interface FlowMessage {
  workflow: FlowType;
  /** Workflow id: the public id of the resource. */
  id: string;
  /** Static summary of the workflow in the Temporal UI, one line. */
  summary: string;
  /** Initial value of the search attribute FlowState. */
  state: string;
  input: FlowScope | InstallationScope;
  signal?: { name: string; payload: unknown };
  /** Starts a new run although one has ended: reopened, or it ended before its work was done. */
  allowRestart?: true;
  /** The task queue that it runs on, if not the common one. */
  queue?: FlowQueue;
  /** The relay handles it apart from those that are not urgent. */
  urgent?: true;
}

/** A queue of their own: payments never wait behind thousands of starts, and maintenance can run apart. */
const FLOW_QUEUES = ['payouts', 'maintenance'] as const;
export type FlowQueue = (typeof FLOW_QUEUES)[number];

/** `rail`: of the activities that call a rail, for the flows of every queue, so that one rate limits them. */
export type TaskQueue = FlowQueue | 'rail';

/** The name of a task queue in Temporal: the common queue's name, with a suffix for any other queue. */
export const taskQueueOf = (common: string, queue: TaskQueue | undefined): string =>
  queue === undefined ? common : `${common}-${queue}`;

/** The name of the queue `rail`, for a flow on the queue of this name. */
export const railQueueOf = (flowQueue: string): string => taskQueueOf(flowQueue.replace(/-payouts$/, ''), 'rail');

export const taskQueuesOf = (common: string): string[] => [
  common,
  taskQueueOf(common, 'rail'),
  ...FLOW_QUEUES.map((queue) => taskQueueOf(common, queue)),
];

/** The condition of a list query of Temporal: on one of the task queues. */
export const onTaskQueues = (common: string): string => `TaskQueue IN ('${taskQueuesOf(common).join("', '")}')`;

/** Topic of the outbox rows that the relay turns into workflow starts and signals. */
export const FLOW_TOPIC = 'flow';
/** Topic of those that are due later, such as the expiry of a payment. Most find that the flow has already run. */
export const SCHEDULED_TOPIC = 'scheduled';

/** The outbox row that makes the relay start or signal a flow. */
export interface FlowOutboxMessage {
  topic: typeof FLOW_TOPIC | typeof SCHEDULED_TOPIC;
  message: FlowMessage;
  /** When the relay handles it; default: at once. */
  availableAt?: Date;
}

export function toOutbox(message: FlowMessage, availableAt?: Date): FlowOutboxMessage {
  if (isUrgent(message)) return { topic: FLOW_TOPIC, message: { ...message, urgent: true }, availableAt };
  return { topic: availableAt === undefined ? FLOW_TOPIC : SCHEDULED_TOPIC, message, availableAt };
}

/** The same message with `allowRestart`. Its flow begins at once, because an earlier run may have left work undone. */
export const restarted = ({ message }: FlowOutboxMessage): FlowOutboxMessage =>
  toOutbox({ ...message, allowRestart: true });
