// Traces by OpenTelemetry, sent as OTLP over HTTP. Loaded by src/telemetry/tracing.ts when traces are switched on, and never else.
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
import type { Config } from '../config.ts';
import type { FinishedSpan, Span, SpanAttributes, SpanStart, Tracer } from './span.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** A traceparent of version 00; later versions begin with the same fields. */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

export function createTracer(settings: NonNullable<Config['tracing']>, part: string): Tracer {
  const inProgress = new AsyncLocalStorage<Context>();
  const ids = new RandomIdGenerator();
  let chosenSpanId: string | undefined;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': settings.serviceName || `manilla-${part}` }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    idGenerator: {
      generateTraceId: () => ids.generateTraceId(),
      generateSpanId: () => chosenSpanId ?? ids.generateSpanId(),
    },
    // Headers, compression and certificates it reads from the environment itself.
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: settings.url }) })],
  });
  const otel = provider.getTracer('manilla');

  const begin = (name: string, start: Omit<SpanStart, 'parent' | 'root'> & { startTime?: number }, above: Context) => {
    const { kind, attributes = {}, links = [], startTime } = start;
    const linked = links.flatMap((link) => readTraceparent(link) ?? []).map((context) => ({ context }));
    const options = { kind: KINDS[kind], attributes: written(attributes), links: linked };
    return otel.startSpan(name, startTime === undefined ? options : { ...options, startTime }, above);
  };

  return {
    async inSpan(name, { parent, root, ...start }, work) {
      const above = root ? ROOT_CONTEXT : parent === undefined ? inProgress.getStore() : under(parent);
      if (above === undefined) return await work(NOT_TRACED);
      const span = begin(name, start, above);
      const handle: Span = {
        rename: (better) => span.updateName(better),
        set: (attributes) => span.setAttributes(written(attributes)),
        fail: (code) => span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR }),
      };
      try {
        return await inProgress.run(trace.setSpan(above, span), () => work(handle));
      } catch (error) {
        handle.fail(codeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },

    record({ name, parent, spanId, startedAt, endedAt, failure, ...start }: FinishedSpan) {
      const above = under(parent);
      if (above === undefined) return;
      chosenSpanId = spanId;
      const span = begin(name, { ...start, startTime: startedAt }, above);
      chosenSpanId = undefined;
      if (failure !== undefined) span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    },

    current() {
      const context = inProgress.getStore();
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

function under(traceparent: string): Context | undefined {
  const above = readTraceparent(traceparent);
  return above && trace.setSpanContext(ROOT_CONTEXT, above);
}

function written(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** What a fault is called. Its message stays here: it may hold what a caller or a bank said of a person. */
function codeOf(error: unknown): string {
  const { code, type, name } = (error ?? {}) as { code?: unknown; type?: unknown; name?: unknown };
  return (
    ([type, code, name].find((word) => typeof word === 'string' && word !== '') as string | undefined) ?? 'unknown'
  );
}
