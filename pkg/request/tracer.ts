/** Single requests, followed through the system: who records them decides how. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** `traceparent` and `tracestate` as W3C writes them; none = there is no trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** A span of a trace. */
export interface Span {
  /** Starts a child span. */
  child(name: string): Span;
  /** Runs work with this span as the parent of the spans that it starts. */
  run<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  failed(reason: string): void;
  /** Must be called, once. */
  end(): void;
}

export interface RequestSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** What the client sent. */
  readonly headers: TraceHeaders;
  /** The client may decide whether this is recorded; others are only linked to. */
  readonly isTrusted: boolean;
}

export interface Tracer {
  /** False = nothing is recorded, and callers may skip the instrumentation. */
  readonly isOn: boolean;
  /** Starts the span of a request; the caller must end it. */
  begin(request: RequestSpan): Span;
  /**
   * Does work for which others are asked: a piece of what runs now, or else a trace of its own.
   * Requests to others carry the headers.
   */
  call<T>(
    name: string,
    attributes: SpanAttributes,
    work: (headers: TraceHeaders) => Promise<T>,
  ): Promise<T>;
}

const noHeaders: TraceHeaders = {};

/** Not recorded, and nothing in it is. */
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
