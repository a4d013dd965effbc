// Careful callers: they send a request again, with the same Idempotency-Key and to either API, until there is a
// definite answer, and keep every answer for the judge.
import type { Answer, Body, Operation, OperationKind } from './facts.ts';

/** How long a caller waits for a response. Longer than the API's own deadlines would hide lost responses. */
const PATIENCE_MS = 4_000;
const RETRY_PAUSE_MS = { first: 100, max: 1_000 };

interface Response {
  status: number;
  data?: Body;
  error?: { code: string; details: Record<string, unknown> };
  replayed: boolean;
}

export interface NewOperation {
  kind: OperationKind;
  path: string;
  body: Record<string, unknown>;
  key: string | null;
}

export class Callers {
  readonly operations: Operation[] = [];
  /**
   * Responses with a status of 500 or above, and requests without a response, which the caller repeated. A refused
   * connection is none: what distributes connections asks another API.
   */
  readonly outages: string[] = [];
  requests = 0;
  readonly #urls: readonly string[];
  readonly #apiKey: string;
  readonly #patienceMs: number;
  #deadline = Number.POSITIVE_INFINITY;
  #next = 0;

  constructor(urls: readonly string[], apiKey: string, patienceMs = PATIENCE_MS) {
    this.#urls = urls;
    this.#apiKey = apiKey;
    this.#patienceMs = patienceMs;
  }

  /** Requests without a definite answer at this time are given up. */
  giveUpAt(time: number): void {
    this.#deadline = time;
  }

  /** Sends a request until there is a definite answer, or the deadline has passed. */
  async send(request: NewOperation): Promise<Operation> {
    const one: Operation = {
      ...request,
      number: this.operations.length + 1,
      attempts: 0,
      sentAt: Date.now(),
      answeredAt: 0,
      answer: null,
      replay: null,
      now: null,
    };
    this.operations.push(one);
    one.answer = await this.#untilDefinite('POST', request.path, request, () => {
      one.attempts += 1;
    });
    one.answeredAt = Date.now();
    return one;
  }

  /** A read, or a simulation that the judge does not look at. Null: refused or given up. */
  async ask(method: string, path: string, body?: object): Promise<Body | null> {
    return acceptedBody(await this.#untilDefinite(method, path, { body, key: null }));
  }

  /** Sends an operation once more, with the same key. */
  async replay({ path, body, key }: Operation): Promise<Answer | null> {
    return await this.#untilDefinite('POST', path, { body, key });
  }

  async #untilDefinite(
    method: string,
    path: string,
    { body, key }: { body: object | undefined; key: string | null },
    onAttempt?: () => void,
  ): Promise<Answer | null> {
    for (let pauseMs = RETRY_PAUSE_MS.first; Date.now() < this.#deadline; ) {
      onAttempt?.();
      const response = await this.#attempt(method, path, body, key);
      if (response !== null && isDefinite(response)) return answerOf(response);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(RETRY_PAUSE_MS.max, pauseMs * 2);
    }
    return null;
  }

  /** One attempt, at the next API; null without a response. */
  async #attempt(method: string, path: string, body: object | undefined, key: string | null): Promise<Response | null> {
    this.requests += 1;
    const url = this.#urls[this.#next++ % this.#urls.length];
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== null && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(this.#patienceMs),
      });
      const content = (await response.json()) as Pick<Response, 'data' | 'error'>;
      if (response.status >= 500) this.outages.push(`${method} ${path}: ${response.status} ${content.error?.code}`);
      return { ...content, status: response.status, replayed: response.headers.has('idempotent-replayed') };
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } };
      if (cause?.code !== 'ECONNREFUSED') this.outages.push(`${method} ${path}: no response (${cause?.code ?? name})`);
      return null;
    }
  }
}

/** The resource of a success; null for a refusal, and without an answer. */
export const acceptedBody = (answer: Answer | null): Body | null =>
  answer !== null && answer.status < 300 ? answer.body : null;

/** A success or a refusal. Rate limits, outages and a request that is still running say nothing about the outcome. */
const isDefinite = ({ status, error }: Response): boolean =>
  status < 500 && status !== 429 && error?.code !== 'IDEMPOTENCY_IN_PROGRESS';

function answerOf({ status, data, error, replayed }: Response): Answer {
  const body = Array.isArray(data) ? { items: data } : (data ?? { code: error?.code, details: error?.details });
  return { status, body, replayed };
}
