// Tracing with OpenTelemetry, exported as OTLP over HTTP. Imported only when tracing is on.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { FinishedSpan, Span, SpanAttributes, SpanStart, TracingSettings } from './span.ts';

/** A W3C traceparent of version 00; later versions start with the same fields. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

export function createTracer(settings: TracingSettings, part: string) {
  const activeContext = new AsyncLocalStorage<Context>();
  const ids = new RandomIdGenerator();
  let nextSpanId: string | undefined;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': settings.serviceName || `manilla-${part}` }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    idGenerator: {
      generateTraceId: () => ids.generateTraceId(),
      generateSpanId: () => nextSpanId ?? ids.generateSpanId(),
    },
    // The exporter reads headers, compression and certificates from the environment (OTEL_EXPORTER_OTLP_*).
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: settings.url }) })],
  });
  const otel = provider.getTracer('manilla');

  const startSpan = (
    name: string,
    start: Omit<SpanStart, 'parent' | 'root'> & { startTime?: number },
    parentContext: Context,
  ) => {
    const { kind, attributes = {}, links = [], startTime } = start;
    const spanLinks = links.flatMap((link) => readTraceparent(link) ?? []).map((context) => ({ context }));
    const spanKind = SpanKind[kind.toUpperCase() as Uppercase<typeof kind>];
    const options = { kind: spanKind, attributes: definedAttributes(attributes), links: spanLinks };
    return otel.startSpan(name, startTime === undefined ? options : { ...options, startTime }, parentContext);
  };

  return {
    async inSpan<Result>(
      name: string,
      { parent, root, ...start }: SpanStart,
      work: (span: Span) => Promise<Result>,
    ): Promise<Result> {
      const parentContext = root ? ROOT_CONTEXT : parent === undefined ? activeContext.getStore() : contextOf(parent);
      if (parentContext === undefined) return await work(NOT_TRACED);
      const span = startSpan(name, start, parentContext);
      const handle: Span = {
        rename: (newName) => span.updateName(newName),
        set: (attributes) => span.setAttributes(definedAttributes(attributes)),
        fail: (code) => span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR }),
      };
      try {
        return await activeContext.run(trace.setSpan(parentContext, span), () => work(handle));
      } catch (error) {
        handle.fail(codeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },

    record({ name, parent, spanId, startedAt, endedAt, failure, ...start }: FinishedSpan) {
      const parentContext = contextOf(parent);
      if (parentContext === undefined) return;
      nextSpanId = spanId;
      const span = startSpan(name, { ...start, startTime: startedAt }, parentContext);
      nextSpanId = undefined;
      if (failure !== undefined) span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    },

    current() {
      const context = activeContext.getStore();
      const span = context && trace.getSpanContext(context);
      if (span === undefined || (span.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
      return { traceId: span.traceId, traceparent: `00-${span.traceId}-${span.spanId}-01` };
    },

    close: () => provider.shutdown(),
  };
}

const NOT_TRACED: Span = { rename: () => {}, set: () => {}, fail: () => {} };

function readTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function contextOf(traceparent: string): Context | undefined {
  const spanContext = readTraceparent(traceparent);
  return spanContext && trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

function definedAttributes(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The code of an error. Its message is not exported: it may contain personal data from a caller or a bank. */
function codeOf(error: unknown): string {
  const { code, type, name } = (error ?? {}) as { code?: unknown; type?: unknown; name?: unknown };
  return (
    ([type, code, name].find((text) => typeof text === 'string' && text !== '') as string | undefined) ?? 'unknown'
  );
}
