// Traces: what a span is to the rest of the service, and the switch. While they are off, which is the default, everything
// here is one look at a variable, and nothing of OpenTelemetry's SDK is loaded (docs/traces.md).
import type { Config } from './config.ts';

/** Ids, codes and counts only: a span goes to another system, so nothing in it may name a person or an account. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  attributes?: SpanAttributes;
  /** The `traceparent` of the span above. Without one it is the span in progress; where there is none, no span is made. */
  parent?: string | undefined;
  /** Begins a trace of its own. `links`: the `traceparent`s of what it has to do with. */
  root?: boolean;
  links?: readonly string[];
}

/** A span while its work runs. */
export interface Span {
  rename: (name: string) => void;
  set: (attributes: SpanAttributes) => void;
  /** It did not go well, and this is the code of why. */
  fail: (code: string) => void;
}

/** A span that is told of when it is over. Times are milliseconds since 1970. */
export interface FinishedSpan {
  name: string;
  kind: SpanStart['kind'];
  parent: string;
  /** Its own id, 16 hexadecimal digits, where others already know it by that. */
  spanId?: string;
  startedAt: number;
  endedAt: number;
  attributes: SpanAttributes;
  links?: readonly string[];
  /** The code of why it failed. */
  failure?: string | undefined;
}

/** What does the work while traces are on: src/openTelemetry.ts. */
export interface Tracer {
  inSpan: <Result>(name: string, start: SpanStart, work: (span: Span) => Promise<Result>) => Promise<Result>;
  record: (span: FinishedSpan) => void;
  current: () => { traceId: string; traceparent: string } | undefined;
  close: () => Promise<void>;
}

let tracer: Tracer | null = null;

const NO_SPAN: Span = { rename: () => {}, set: () => {}, fail: () => {} };

/** Switches traces on where the configuration says so. `part` names the process. Answers how to send what is left and stop. */
export async function startTracing({ tracing }: Pick<Config, 'tracing'>, part: string): Promise<() => Promise<void>> {
  if (tracing === null) return () => Promise.resolve();
  const { createTracer } = await import('./openTelemetry.ts');
  const started = createTracer(tracing, part);
  tracer = started;
  return async () => {
    tracer = null;
    await started.close();
  };
}

export const isTracing = (): boolean => tracer !== null;

/** Does the work, in a span when traces are on. What it throws marks the span as failed and is thrown on. */
export function inSpan<Result>(name: string, start: SpanStart, work: (span: Span) => Promise<Result>): Promise<Result> {
  return tracer === null ? work(NO_SPAN) : tracer.inSpan(name, start, work);
}

/** A span whose work was done elsewhere: in the sandbox of a workflow, which knows no clock and no network. */
export function recordSpan(span: FinishedSpan): void {
  tracer?.record(span);
}

/** The span in progress as a W3C `traceparent`, for what is to be continued elsewhere; undefined when it is not traced. */
export function currentTraceparent(): string | undefined {
  return tracer?.current()?.traceparent;
}

/** The trace in progress, for the log. */
export function currentTraceId(): string | undefined {
  return tracer?.current()?.traceId;
}
