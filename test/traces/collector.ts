// A trace collector: accepts OTLP over HTTP in JSON, as a real one does, and stores every span for the test.
import { startReceiver } from '../webhooks/receiver.ts';

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number; boolValue?: boolean; doubleValue?: number };
}

/** ExportTraceServiceRequest of opentelemetry-proto, as far as tests read it. */
interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Attribute[];
        links?: { traceId: string; spanId: string }[];
        status: { code?: number; message?: string };
        events?: unknown[];
      }[];
    }[];
  }[];
}

export interface CollectedSpan {
  service: unknown;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  /** Nanoseconds. */
  start: bigint;
  end: bigint;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  failed: boolean;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Everything received, as text. */
  text: () => string;
  close: () => Promise<void>;
}

/** The OTLP status code of a failed span. */
const STATUS_ERROR = 2;

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const receiver = await startReceiver((response, { method, path, body }) => {
    if (method !== 'POST' || path !== '/v1/traces') return void response.writeHead(404).end();
    spans.push(...read(JSON.parse(body) as ExportRequest));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  return {
    url: receiver.origin,
    spans,
    text: () => receiver.received.map(({ body }) => body).join('\n'),
    close: receiver.close,
  };
}

function read({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: plain(resource.attributes)['service.name'],
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        attributes: plain(span.attributes),
        links: span.links ?? [],
        failed: span.status.code === STATUS_ERROR,
      })),
    ),
  );
}

function plain(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
