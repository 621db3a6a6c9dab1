/** Single requests, followed through the system: who records them decides how. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** `traceparent` and `tracestate` as W3C writes them; none = there is no trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** A piece of work with a beginning and an end. */
export interface Span {
  /** A piece of this work that begins now. */
  child(name: string): Span;
  /** Runs work, so that calls in it become pieces of this one. */
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
  /** False = nobody records anything, and there is no need to ask. */
  readonly isOn: boolean;
  /** A request begins; it must be ended. */
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

/** Nobody is interested. */
export const noTracer: Tracer = {
  isOn: false,
  begin: () => noSpan,
  call: (_name, _attributes, work) => work(noHeaders),
};
