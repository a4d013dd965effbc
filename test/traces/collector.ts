// A trace collector: accepts OTLP over HTTP in JSON, as a real one does, and stores every span for the test.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

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
  const requests: ExportRequest[] = [];
  const spans: CollectedSpan[] = [];
  const receive = async (request: IncomingMessage): Promise<number> => {
    if (request.method !== 'POST' || request.url !== '/v1/traces') return 404;
    const body = (await json(request)) as ExportRequest;
    requests.push(body);
    spans.push(...read(body));
    return 200;
  };
  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
      () => response.writeHead(400).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => JSON.stringify(requests),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
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
