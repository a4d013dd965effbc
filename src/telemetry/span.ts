// What a span is to the rest of the service, independent of the library that records it.
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

/** What does the work while traces are on: src/telemetry/openTelemetry.ts. */
export interface Tracer {
  inSpan: <Result>(name: string, start: SpanStart, work: (span: Span) => Promise<Result>) => Promise<Result>;
  record: (span: FinishedSpan) => void;
  current: () => { traceId: string; traceparent: string } | undefined;
  close: () => Promise<void>;
}
