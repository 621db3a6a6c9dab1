/** Metrics of admission; names, labels and buckets are kube-apiserver's. */
import type { Instruments, MetricDefinition } from "#request";

/** Mutating (`admit`) and validating admission. */
export type AdmissionType = "admit" | "validate";

const usualSeconds = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const labels = ["type", "operation", "rejected"];

export const stepSeconds: MetricDefinition = {
  name: "apiserver_admission_step_admission_duration_seconds",
  kind: "histogram",
  help: "Latency of a whole admission phase in seconds, by phase, operation and rejection.",
  labels,
  buckets: usualSeconds,
};
export const pluginSeconds: MetricDefinition = {
  name: "apiserver_admission_controller_admission_duration_seconds",
  kind: "histogram",
  help: "Latency of an admission plugin in seconds, by phase, operation and rejection.",
  labels: ["name", ...labels],
  buckets: usualSeconds,
};
const webhookSeconds: MetricDefinition = {
  name: "apiserver_admission_webhook_admission_duration_seconds",
  kind: "histogram",
  help: "Latency of an admission webhook in seconds, by type, operation and rejection.",
  labels: ["name", ...labels],
  buckets: [...usualSeconds, 10, 25],
};
const webhookRequests: MetricDefinition = {
  name: "apiserver_admission_webhook_request_total",
  kind: "counter",
  help: "Number of admission webhook requests, by status code and rejection.",
  labels: ["name", "type", "operation", "code", "rejected"],
};
const webhookRejections: MetricDefinition = {
  name: "apiserver_admission_webhook_rejection_count",
  kind: "counter",
  help: "Number of requests rejected because of an admission webhook, by error type.",
  labels: ["name", "type", "operation", "error_type", "rejection_code"],
};
const webhooksFailedOpen: MetricDefinition = {
  name: "apiserver_admission_webhook_fail_open_count",
  kind: "counter",
  help: "Number of requests admitted although a webhook failed (failurePolicy: Ignore).",
  labels: ["name", "type"],
};

const policySeconds = [0.0000005, 0.001, 0.01, 0.1, 1];

interface PolicyMetrics {
  readonly total: MetricDefinition;
  readonly time: MetricDefinition;
}

function policyMetrics(kind: string, ...more: readonly string[]): PolicyMetrics {
  const name = `apiserver_${kind}_admission_policy_check`;
  const bound = ["policy", "policy_binding", "error_type", ...more];
  const total = {
    name: `${name}_total`,
    kind: "counter",
    help: "Number of policy checks, by policy, binding and error type.",
    labels: bound,
  } as const;
  const time = {
    name: `${name}_duration_seconds`,
    kind: "histogram",
    help: "Latency of a policy check in seconds, by policy, binding and error type.",
    labels: bound,
    buckets: policySeconds,
  } as const;
  return { total, time };
}

const policies = {
  validating: policyMetrics("validating", "enforcement_action"),
  mutating: policyMetrics("mutating"),
} as const;

/** Definitions to register with the instruments. */
export const admissionMetrics: readonly MetricDefinition[] = [
  stepSeconds,
  pluginSeconds,
  webhookSeconds,
  webhookRequests,
  webhookRejections,
  webhooksFailedOpen,
  ...Object.values(policies).flatMap(({ total, time }) => [total, time]),
];

/** Maximum value of the label `code`; larger codes of webhooks are reported as this one. */
const highestCode = 600;

export interface AskedWebhook {
  readonly name: string;
  /** Value of the label `type`, which differs from AdmissionType. */
  readonly type: "admit" | "validating";
  readonly operation: string;
  readonly seconds: number;
  /** HTTP status code; 200 = admitted, 0 = the error is the API server's own. */
  readonly code: number;
  /** Error type of a rejection; absent = not rejected. */
  readonly refusal?: "no_error" | "calling_webhook_error" | "apiserver_internal_error";
  readonly failedOpen?: boolean;
}

export function countWebhook(instruments: Instruments, asked: AskedWebhook): void {
  const { name, type, seconds, refusal, failedOpen = false } = asked;
  const common = { name, type, operation: asked.operation.toUpperCase() };
  const rejected = String(refusal !== undefined);
  const code = String(Math.min(asked.code, highestCode));
  instruments.observe(webhookSeconds.name, { ...common, rejected }, seconds);
  instruments.add(webhookRequests.name, { ...common, code, rejected }, 1);
  if (refusal !== undefined) {
    const why = { error_type: refusal, rejection_code: code };
    instruments.add(webhookRejections.name, { ...common, ...why }, 1);
  }
  if (failedOpen) instruments.add(webhooksFailedOpen.name, { name, type }, 1);
}

export interface PolicyOutcome {
  readonly policy: string;
  readonly binding: string;
  readonly seconds: number;
  /** Error of a CEL expression; absent = none. */
  readonly error?: string | undefined;
  /** Enforcement action of the binding; `allow` = an error was ignored. */
  readonly action?: string;
}

export function countPolicy(
  instruments: Instruments,
  kind: keyof typeof policies,
  { policy, binding, seconds, error, action = "" }: PolicyOutcome,
): void {
  const { total, time } = policies[kind];
  const bound = { policy, policy_binding: binding, enforcement_action: action.toLowerCase() };
  const shown = { ...bound, error_type: errorType(error) };
  instruments.add(total.name, shown, 1);
  instruments.observe(time.name, shown, seconds);
}

/** Value of the `error_type` label, derived from the error message by Kubernetes' rules. */
function errorType(message: string | undefined): string {
  if (message === undefined) return "no_error";
  if (message.startsWith("compilation")) return "compile_error";
  return message.includes("running out of cost budget") ? "out_of_budget" : "invalid_error";
}
