// What a span is, independent of the library that records it.

/** Where spans are sent, which share of the traces, and the name of the service; empty: the default. */
export interface TracingSettings {
  url: string;
  ratio: number;
  serviceName: string;
}

/** Ids, codes and counts only: spans are sent to another system, so they must not contain names or account numbers. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  attributes?: SpanAttributes;
  /** The `traceparent` of the parent span; by default the active span. Without a parent no span is created. */
  parent?: string | undefined;
  /** Starts a new trace. */
  root?: boolean;
  /** The `traceparent`s of related spans. */
  links?: readonly string[];
}

/** A span while its work runs. */
export interface Span {
  rename: (name: string) => void;
  set: (attributes: SpanAttributes) => void;
  /** Marks the span as failed. `code`: the error code. */
  fail: (code: string) => void;
}

/** A span that is recorded after it has ended. Times are milliseconds since 1970. */
export interface FinishedSpan extends Omit<SpanStart, 'root'> {
  name: string;
  parent: string;
  /** The id of the span, 16 hexadecimal digits, when child spans already refer to it. */
  spanId?: string;
  startedAt: number;
  endedAt: number;
  /** The error code, if it failed. */
  failure?: string | undefined;
}
