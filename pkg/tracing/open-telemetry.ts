import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  type Span as OpenSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as OpenTracer,
} from "@opentelemetry/api";
import {
  type ExportResult,
  ExportResultCode,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import {
  noSpan,
  type RequestSpan,
  type Span,
  type SpanAttributes,
  type TraceHeaders,
  type Tracer,
} from "#request";
import type { RunningTracer, TracingOptions } from "./tracer-options.ts";

/** Export timeout, after which spans are lost. */
const exportTimeoutMs = 5_000;
const waitingSpans = 8192;
const sentTogether = 512;
const sendingEveryMs = 1_000;
const million = 1_000_000;

const propagator = new W3CTraceContextPropagator();
const readHeader = {
  get: (headers: TraceHeaders, name: string) => headers[name],
  keys: (headers: TraceHeaders) => Object.keys(headers),
};
const writeHeader = {
  set: (headers: Record<string, string>, name: string, value: string) => {
    headers[name] = value;
  },
};

/** Sends spans to a collector over OTLP/gRPC. */
export function openTelemetryTracer(options: TracingOptions): RunningTracer {
  const { endpoint, samplingRatePerMillion, service, instance, report } = options;
  const exporter = new OTLPTraceExporter({ url: endpoint, timeoutMillis: exportTimeoutMs });
  const processor = new BatchSpanProcessor(reporting(exporter, report), {
    maxQueueSize: waitingSpans,
    maxExportBatchSize: sentTogether,
    scheduledDelayMillis: sendingEveryMs,
    exportTimeoutMillis: exportTimeoutMs,
  });
  const provider = new BasicTracerProvider({
    sampler: new ParentBasedSampler({
      root: new TraceIdRatioBasedSampler(samplingRatePerMillion / million),
    }),
    resource: resourceFromAttributes({
      "service.name": service,
      "service.instance.id": instance,
    }),
    spanProcessors: [processor],
  });
  return {
    tracer: new OpenTelemetryTracer(provider.getTracer("keelson"), samplingRatePerMillion > 0),
    close: () => provider.shutdown().catch(report),
  };
}

/** Wraps an exporter to report its errors. */
function reporting(exporter: SpanExporter, report: (error: unknown) => void): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result: ExportResult) => {
        if (result.code !== ExportResultCode.SUCCESS) {
          const message = `${spans.length} spans were not taken`;
          report(new Error(`${message}: ${result.error?.message ?? "unknown reason"}`));
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

class OpenTelemetryTracer implements Tracer {
  readonly isOn = true;
  /** Trace context of the current asynchronous call. */
  private readonly running = new AsyncLocalStorage<Context>();

  constructor(
    private readonly tracer: OpenTracer,
    /** Whether this process starts traces, instead of only continuing those of clients. */
    private readonly begins: boolean,
  ) {}

  begin({ name, attributes, headers, isTrusted }: RequestSpan): Span {
    const remote = propagator.extract(ROOT_CONTEXT, headers, readHeader);
    const named = trace.getSpanContext(remote);
    if (!this.begins && (named === undefined || !isTrusted)) return noSpan;
    const link = isTrusted ? undefined : named;
    const options = {
      kind: SpanKind.SERVER,
      attributes,
      ...(link === undefined ? {} : { links: [{ context: link }] }),
    };
    return this.started(name, options, isTrusted ? remote : ROOT_CONTEXT);
  }

  async call<T>(
    name: string,
    attributes: SpanAttributes,
    work: (headers: TraceHeaders) => Promise<T>,
  ): Promise<T> {
    const parent = this.running.getStore() ?? ROOT_CONTEXT;
    const around = trace.getSpan(parent);
    if (around === undefined ? !this.begins : !around.isRecording()) {
      return work(headersOf(parent));
    }
    const span = this.started(name, { kind: SpanKind.CLIENT, attributes }, parent);
    try {
      return await span.run(() => work(headersOf(span.context)));
    } catch (error) {
      span.failed(error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      span.end();
    }
  }

  private started(
    name: string,
    options: Parameters<OpenTracer["startSpan"]>[1],
    parent: Context,
  ): OpenTelemetrySpan {
    const span = this.tracer.startSpan(name, options, parent);
    return new OpenTelemetrySpan(span, this.tracer, this.running);
  }
}

class OpenTelemetrySpan implements Span {
  readonly context: Context;

  constructor(
    private readonly span: OpenSpan,
    private readonly tracer: OpenTracer,
    private readonly running: AsyncLocalStorage<Context>,
  ) {
    this.context = trace.setSpan(ROOT_CONTEXT, span);
  }

  child(name: string): Span {
    if (!this.span.isRecording()) return noSpan;
    const span = this.tracer.startSpan(name, {}, this.context);
    return new OpenTelemetrySpan(span, this.tracer, this.running);
  }

  run<T>(work: () => T): T {
    return this.running.run(this.context, work);
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes);
  }

  failed(reason: string): void {
    this.span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
  }

  end(): void {
    this.span.end();
  }
}

function headersOf(context: Context): TraceHeaders {
  const headers: Record<string, string> = {};
  propagator.inject(context, headers, writeHeader);
  return headers;
}
