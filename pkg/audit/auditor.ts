import type { Clock } from "#base";
import { type Domain, resolve } from "#meta";
import type {
  AuditedRequest,
  Auditor,
  AuditTrail,
  Endpoint,
  Instruments,
  MetricDefinition,
  Tracer,
} from "#request";
import { noTracer, webhookClient } from "#request";
import { unionBackend, type Backend, ignoringErrors, type OnLoss } from "./backend.ts";
import { BufferedBackend, type BatchOptions } from "./batch.ts";
import { type LineSink, LogBackend, streamSink } from "./log.ts";
import { policyEvaluator } from "./policy.ts";
import { readPolicy } from "./policy-file.ts";
import { RotatingFile, type RotationOptions } from "./rotating-file.ts";
import { RequestAudit } from "./request-audit.ts";
import { type TruncateOptions, truncating } from "./truncate.ts";
import { WebhookBackend } from "./webhook.ts";

/** `--audit-log-mode`: whether requests wait for their events (`blocking`), and fail if one is lost. */
export type AuditMode = "batch" | "blocking" | "blocking-strict";

interface Delivery {
  readonly mode: AuditMode;
  /** Options of mode `batch`. */
  readonly batch: BatchOptions;
  /** Undefined = no truncation. */
  readonly truncate?: TruncateOptions | undefined;
}

export interface LogDelivery extends Delivery {
  /** Path of a file, or a stream. */
  readonly to: string | NodeJS.WritableStream;
  readonly format: "json" | "legacy";
  readonly rotation: RotationOptions;
}

export interface WebhookDelivery extends Delivery {
  readonly endpoint: Endpoint;
  readonly initialBackoffMs: number;
}

export interface AuditorOptions {
  /** Text of an `audit.k8s.io/v1` policy. */
  readonly policy: string;
  readonly log?: LogDelivery | undefined;
  readonly webhook?: WebhookDelivery | undefined;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly instruments: Instruments;
  /** Called with errors of lost events, and of rotating log files. */
  readonly report: (error: unknown) => void;
  /** Records calls to the webhook. */
  readonly tracer?: Tracer;
}

export interface RunningAuditor extends Auditor {
  /** Flushes pending events; drops those that cannot be written within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const webhookTimeoutMs = 30_000;

const levelTotal = "apiserver_audit_level_total";
const eventTotal = "apiserver_audit_event_total";
const errorTotal = "apiserver_audit_error_total";
const rejectedTotal = "apiserver_audit_requests_rejected_total";

/** Definitions to register with the instruments. */
export const auditMetrics: readonly MetricDefinition[] = [
  {
    name: eventTotal,
    kind: "counter",
    help: "Number of audit events generated and sent to the audit backends.",
    labels: [],
  },
  {
    name: errorTotal,
    kind: "counter",
    help: "Number of audit events lost because an audit backend failed, by plugin.",
    labels: ["plugin"],
  },
  {
    name: levelTotal,
    kind: "counter",
    help: "Number of requests, by audit policy level.",
    labels: ["level"],
  },
  {
    name: rejectedTotal,
    kind: "counter",
    help: "Number of requests rejected because their audit event could not be written.",
    labels: [],
  },
];

/**
 * Starts auditing by a policy.
 * @throws ConfigurationFault, or a file system error if the log cannot be opened
 */
export async function startAuditor(options: AuditorOptions): Promise<RunningAuditor> {
  const { clock, domain, instruments } = options;
  const evaluate = policyEvaluator(readPolicy(options.policy, domain));
  // Aborts writes that do not end within the grace period of a shutdown.
  const abort = new AbortController();
  const backend = await backendOf(options, abort.signal);
  const parts = {
    backend,
    clock,
    domain,
    onEvent: () => instruments.add(eventTotal, {}, 1),
    onRejection: () => instruments.add(rejectedTotal, {}, 1),
  };
  return {
    begin(request: AuditedRequest): AuditTrail | undefined {
      const decision = evaluate(request.info, request.user);
      const { level } = decision;
      instruments.add(levelTotal, { level }, 1);
      return level === "None" ? undefined : new RequestAudit(request, decision, parts);
    },
    close: (graceMs) => closeWithin(graceMs, backend, abort),
  };
}

async function closeWithin(
  graceMs: number,
  backend: Backend,
  abort: AbortController,
): Promise<void> {
  const reason = new Error("the server is shutting down");
  const timer = setTimeout(() => abort.abort(reason), graceMs);
  try {
    await backend.close();
  } finally {
    clearTimeout(timer);
  }
}

async function backendOf(options: AuditorOptions, signal: AbortSignal): Promise<Backend> {
  const { clock, domain, log, webhook, instruments, report, tracer = noTracer } = options;
  const onLoss: OnLoss = (plugin, error, count) => {
    instruments.add(errorTotal, { plugin }, count);
    report(new Error(`${plugin} has lost ${count} events`, { cause: error }));
  };
  const apiVersion = resolve("audit.{api}/v1", domain);
  const backends: Backend[] = [];
  if (log !== undefined) {
    const sink = await sinkOf(log, options);
    const logBackend = new LogBackend(sink, { format: log.format, apiVersion, onLoss });
    backends.push(withDelivery(logBackend, log, { ...options, onLoss }));
  }
  if (webhook !== undefined) {
    const client = webhookClient({
      endpoint: webhook.endpoint,
      timeoutMs: webhookTimeoutMs,
      clock,
      initialBackoffMs: webhook.initialBackoffMs,
      tracer,
      isRetriable: () => true,
    });
    const webhookBackend = new WebhookBackend(client, { apiVersion, onLoss, signal });
    backends.push(withDelivery(webhookBackend, webhook, { ...options, onLoss }));
  }
  return unionBackend(backends);
}

async function sinkOf(
  { to, rotation }: LogDelivery,
  { clock, report }: AuditorOptions,
): Promise<LineSink> {
  if (typeof to !== "string") return streamSink(to);
  return RotatingFile.open(to, rotation, { clock, onError: report });
}

/** Wraps a backend to truncate events, and to deliver them by its mode. */
function withDelivery(
  backend: Backend,
  { mode, batch, truncate }: Delivery,
  parts: { readonly clock: Clock; readonly domain: Domain; readonly onLoss: OnLoss },
): Backend {
  const inner = truncate === undefined ? backend : truncating(backend, truncate, parts);
  switch (mode) {
    case "batch":
      return new BufferedBackend(inner, batch, parts);
    case "blocking":
      return ignoringErrors(inner);
    case "blocking-strict":
      return inner;
  }
}
