// Traces: what a span is to the rest of the service, and the switch. While they are off, which is the default, everything
// here is one look at a variable, and nothing of OpenTelemetry's SDK is loaded (docs/traces.md).
import type { Config } from '../config.ts';
import type { FinishedSpan, Span, SpanStart, Tracer } from './span.ts';

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
