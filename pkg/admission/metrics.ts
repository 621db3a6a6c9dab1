/** What admission tells of itself, under the names, labels and buckets of kube-apiserver. */
import type { Instruments, MetricDefinition } from "#request";

/** Steps that change objects, and steps that only refuse them. */
export type AdmissionType = "admit" | "validate";

const usualSeconds = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const labels = ["type", "operation", "rejected"];

export const stepSeconds: MetricDefinition = {
  name: "apiserver_admission_step_admission_duration_seconds",
  kind: "histogram",
  help: "Time that all of admission took for one write.",
  labels,
  buckets: usualSeconds,
};
export const pluginSeconds: MetricDefinition = {
  name: "apiserver_admission_controller_admission_duration_seconds",
  kind: "histogram",
  help: "Time that a plugin of admission took for one write.",
  labels: ["name", ...labels],
  buckets: usualSeconds,
};
const webhookSeconds: MetricDefinition = {
  name: "apiserver_admission_webhook_admission_duration_seconds",
  kind: "histogram",
  help: "Time that a webhook took for one write.",
  labels: ["name", ...labels],
  buckets: [...usualSeconds, 10, 25],
};
const webhookRequests: MetricDefinition = {
  name: "apiserver_admission_webhook_request_total",
  kind: "counter",
  help: "Requests to webhooks by how they ended.",
  labels: ["name", "type", "operation", "code", "rejected"],
};
const webhookRejections: MetricDefinition = {
  name: "apiserver_admission_webhook_rejection_count",
  kind: "counter",
  help: "Writes that were refused because of a webhook, by why.",
  labels: ["name", "type", "operation", "error_type", "rejection_code"],
};
const webhooksFailedOpen: MetricDefinition = {
  name: "apiserver_admission_webhook_fail_open_count",
  kind: "counter",
  help: "Writes that were let pass although a webhook could not be asked.",
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
    help: "Times that a bound policy had its say, by what came of it.",
    labels: bound,
  } as const;
  const time = {
    name: `${name}_duration_seconds`,
    kind: "histogram",
    help: "Time that a bound policy took.",
    labels: bound,
    buckets: policySeconds,
  } as const;
  return { total, time };
}

const policies = {
  validating: policyMetrics("validating", "enforcement_action"),
  mutating: policyMetrics("mutating"),
} as const;

/** To be defined to the instruments. */
export const admissionMetrics: readonly MetricDefinition[] = [
  stepSeconds,
  pluginSeconds,
  webhookSeconds,
  webhookRequests,
  webhookRejections,
  webhooksFailedOpen,
  ...Object.values(policies).flatMap(({ total, time }) => [total, time]),
];

/** Codes of HTTP; what webhooks make up beyond them shares one. */
const highestCode = 600;

export interface AskedWebhook {
  readonly name: string;
  /** Kubernetes has its own word for those that validate. */
  readonly type: "admit" | "validating";
  readonly operation: string;
  readonly seconds: number;
  /** 200 = it was asked and had nothing against the write; 0 = the fault is the server's own. */
  readonly code: number;
  /** Why the write was refused; absent = it was not. */
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
  /** What went wrong with an expression; absent = nothing. */
  readonly error?: string | undefined;
  /** What the binding made of a refusal, `allow` = an error that was let pass. */
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

/** Told from the beginnings of messages, as in Kubernetes. */
function errorType(message: string | undefined): string {
  if (message === undefined) return "no_error";
  if (message.startsWith("compilation")) return "compile_error";
  return message.includes("running out of cost budget") ? "out_of_budget" : "invalid_error";
}
