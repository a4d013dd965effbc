// How the Monnify fake treats the transfers to single accounts, where a test says otherwise than the number of the
// account (destinations.ts): the steps that they take, and what goes wrong with the requests about them.
import type { TransferStep } from './book.ts';
import { stepsTo } from './destinations.ts';
import { type Fault, REFUSALS } from './faults.ts';
import type { Incoming } from './rules.ts';

/** A response that goes wrong. `acts`: the request has its effect all the same. */
export interface PlannedFault {
  fault: Fault;
  acts: boolean;
  /** How many responses are left to go wrong. */
  times: number;
}

export interface Plan {
  steps?: readonly TransferStep[];
  /** The requests that go wrong: sends only, or queries of the status too. */
  on?: 'send' | 'send_and_status';
  fault?: Fault;
  acts?: boolean;
  /** Default: every one. */
  times?: number;
}

const SEND = 'POST /api/v2/disbursements/single';
const STATUS = 'GET /api/v2/disbursements/single/summary';

export class Plans {
  readonly #steps = new Map<string, readonly TransferStep[]>();
  readonly #faults = new Map<string, PlannedFault & { on: 'send' | 'send_and_status' }>();
  /** The account of each reference that was sent, accepted or not. */
  readonly #accounts = new Map<string, string>();

  /** Replaces the plan of an account; an empty one treats it by its number again. */
  set(
    accountNumber: string,
    { steps, fault, on = 'send', acts = false, times = Number.POSITIVE_INFINITY }: Plan,
  ): void {
    this.#steps.delete(accountNumber);
    this.#faults.delete(accountNumber);
    if (steps !== undefined) this.#steps.set(accountNumber, steps);
    if (fault !== undefined) this.#faults.set(accountNumber, { on, fault, acts: acts && !REFUSALS.has(fault), times });
  }

  /** The steps of a new transfer. */
  stepsTo(accountNumber: string): TransferStep[] {
    return [...(this.#steps.get(accountNumber) ?? stepsTo(accountNumber))];
  }

  /** What goes wrong with this request; undefined: nothing. */
  faultOf(route: string, { query, text }: Incoming): PlannedFault | undefined {
    if (route === STATUS) {
      const fault = this.#faults.get(this.#accounts.get(query.get('reference') ?? '') ?? '');
      return fault?.on === 'send_and_status' && fault.times > 0 ? fault : undefined;
    }
    if (route !== SEND) return undefined;
    const [reference = '', accountNumber = ''] = [/"reference":"([^"]*)"/, /"destinationAccountNumber":"([^"]*)"/].map(
      (field) => field.exec(text)?.[1],
    );
    this.#accounts.set(reference, accountNumber);
    const fault = this.#faults.get(accountNumber);
    return fault !== undefined && fault.times > 0 ? fault : undefined;
  }
}
