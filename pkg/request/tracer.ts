/** Interfaces of distributed tracing. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** W3C `traceparent` and `tracestate`; empty without a trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** A span of a trace. */
export interface Span {
  /** Starts a child span. */
  child(name: string): Span;
  /** Runs work with this span as the parent of the spans that it starts. */
  run<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  failed(reason: string): void;
  /** Must be called exactly once. */
  end(): void;
}

export interface RequestSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** Trace headers of the client. */
  readonly headers: TraceHeaders;
  /** Whether the client's sampling decision is used; the traces of others are only linked. */
  readonly isTrusted: boolean;
}

export interface Tracer {
  /** Whether tracing is enabled; if not, callers may skip the instrumentation. */
  readonly isOn: boolean;
  /** Starts the span of a request; the caller must end it. */
  begin(request: RequestSpan): Span;
  /**
   * Runs an outgoing call in a child span of the current one, or in a new trace. The call must send the
   * headers.
   */
  call<T>(
    name: string,
    attributes: SpanAttributes,
    work: (headers: TraceHeaders) => Promise<T>,
  ): Promise<T>;
}

const noHeaders: TraceHeaders = {};

/** A span that is not recorded. */
export const noSpan: Span = {
  child: () => noSpan,
  run: (work) => work(),
  set: () => undefined,
  failed: () => undefined,
  end: () => undefined,
};

/** Records nothing. */
export const noTracer: Tracer = {
  isOn: false,
  begin: () => noSpan,
  call: (_name, _attributes, work) => work(noHeaders),
};
