// How a trace travels through Temporal: as the header that Temporal's own interceptors for OpenTelemetry use in every
// language, so that a client or worker of another make continues the same trace. A header is no part of what a replay
// compares: histories with and without it replay alike.
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

const HEADER = '_tracer-data';

/** The W3C traceparent that came with a start, a signal or an activity; undefined when none did. */
export function readTrace(headers: Headers): string | undefined {
  const payload = headers[HEADER];
  if (payload === undefined) return undefined;
  const carrier = defaultPayloadConverter.fromPayload<{ traceparent?: unknown } | null>(payload);
  return typeof carrier?.traceparent === 'string' ? carrier.traceparent : undefined;
}

/** The headers with the trace in them; as they were when there is none. */
export function withTrace(headers: Headers, traceparent: string | undefined): Headers {
  if (traceparent === undefined) return headers;
  return { ...headers, [HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}
