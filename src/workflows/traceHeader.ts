// Trace propagation through Temporal, in the header that Temporal's own OpenTelemetry interceptors use in every
// language, so that clients and workers in other languages continue the same trace. Replay does not compare headers:
// histories with and without this one replay alike.
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

const HEADER = '_tracer-data';

/** The W3C traceparent of a start, a signal or an activity; undefined if it has none. */
export function readTrace(headers: Headers): string | undefined {
  const payload = headers[HEADER];
  if (payload === undefined) return undefined;
  const carrier = defaultPayloadConverter.fromPayload<{ traceparent?: unknown } | null>(payload);
  return typeof carrier?.traceparent === 'string' ? carrier.traceparent : undefined;
}

/** The headers with the traceparent added; unchanged if there is none. */
export function withTrace(headers: Headers, traceparent: string | undefined): Headers {
  if (traceparent === undefined) return headers;
  return { ...headers, [HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}
