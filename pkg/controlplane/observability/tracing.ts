/** Tracing of requests, as start options configure it. */
import { hostname } from "node:os";
import { noTracer, type Tracer } from "#request";
import type { Backend } from "#storage";
import { parseTracingConfiguration, type RunningTracer, startTracing } from "#tracing";
import { fromFlag } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";

const off: RunningTracer = { tracer: noTracer, close: async () => undefined };

/** @throws FileError */
export async function buildTracing(
  { tracing }: StartOptions,
  report: (what: string, error: unknown) => void,
): Promise<RunningTracer> {
  if (tracing === undefined) return off;
  return startTracing({
    ...fromFlag("tracing-config-file", () => parseTracingConfiguration(tracing)),
    service: "apiserver",
    instance: hostname(),
    report: (error) => report("Failed to export spans", error),
  });
}

/**
 * Adds a span to each request to the backend; returns the backend itself if tracing is disabled.
 */
export function tracedBackend(backend: Backend, tracer: Tracer): Backend {
  if (!tracer.isOn) return backend;
  const call = <T>(name: string, key: string, work: () => Promise<T>): Promise<T> =>
    tracer.call(`etcd ${name}`, { key }, work);
  return {
    get: (key, options) => call("get", key, () => backend.get(key, options)),
    range: (options) => call("range", options.from, () => backend.range(options)),
    txn: (transaction) => {
      const [write] = transaction.then;
      const written = write === undefined || "delete" in write ? write?.delete : write.put;
      const key = written ?? transaction.compare[0]?.key ?? "";
      return call("txn", key, () => backend.txn(transaction));
    },
    watch: (options) => backend.watch(options),
    requestProgress: () => backend.requestProgress(),
    compact: (revision) => call("compact", "", () => backend.compact(revision)),
    revision: (signal) => call("revision", "", () => backend.revision(signal)),
    get oldest() {
      return backend.oldest;
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}
