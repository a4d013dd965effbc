// Tracing: the functions that the service calls, and the switch. While tracing is off, which is the default, each call
// only reads a variable, and the OpenTelemetry SDK is not loaded (docs/traces.md).
import type { createTracer } from './openTelemetry.ts';
import type { FinishedSpan, Span, SpanStart, TracingSettings } from './span.ts';

let tracer: ReturnType<typeof createTracer> | null = null;

const NO_SPAN: Span = { rename: () => {}, set: () => {}, fail: () => {} };

/** Turns tracing on, unless the settings are null. Returns a function that flushes the spans and stops. */
export async function startTracing(settings: TracingSettings | null, part: string): Promise<() => Promise<void>> {
  if (settings === null) return () => Promise.resolve();
  const openTelemetry = await import('./openTelemetry.ts');
  const newTracer = openTelemetry.createTracer(settings, part);
  tracer = newTracer;
  return async () => {
    tracer = null;
    await newTracer.close();
  };
}

export const isTracing = (): boolean => tracer !== null;

/** Runs `work`, in a span when tracing is on. An error marks the span as failed and is rethrown. */
export function inSpan<Result>(name: string, start: SpanStart, work: (span: Span) => Promise<Result>): Promise<Result> {
  return tracer === null ? work(NO_SPAN) : tracer.inSpan(name, start, work);
}

/** Records a span of work that ran elsewhere: in the sandbox of a workflow, which has no real clock and no network. */
export function recordSpan(span: FinishedSpan): void {
  tracer?.record(span);
}

/** The active span as a W3C `traceparent`, to continue the trace elsewhere; undefined when it is not sampled. */
export const currentTraceparent = (): string | undefined => tracer?.current()?.traceparent;

/** The id of the active trace, for the log. */
export const currentTraceId = (): string | undefined => tracer?.current()?.traceId;
