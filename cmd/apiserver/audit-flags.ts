import { type AuditMode, type LogDelivery, type WebhookDelivery } from "#audit";
import { KubeconfigFault, parseKubeconfig } from "#request";
import { readFileSync } from "node:fs";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";
import { readNamed } from "../flags/read-named.ts";
import { type AuditOptions } from "#controlplane";

const modes = ["batch", "blocking", "blocking-strict"];
const throttleBurst = 15;
const throttleQps = 10;
const mebibyte = 1024 * 1024;
const atLeast0 = { minimum: 0 };
const atLeast1 = { minimum: 1 };

/** Flags of the record of requests, named as kube-apiserver names them. */
export const auditFlags = {
  "audit-policy-file": flag("string", "", "file with the policy that says what is recorded"),
  "audit-log-path": flag("string", "", "file that requests are recorded in; - = standard output"),
  "audit-log-format": flag("string", "json", "how events are written", {
    values: ["json", "legacy"],
  }),
  "audit-log-maxage": flag("int", 0, "days to keep old audit logs; 0 = for ever", atLeast0),
  "audit-log-maxbackup": flag("int", 0, "old audit logs to keep; 0 = all", atLeast0),
  "audit-log-maxsize": flag("int", 0, "MiB after which a new log begins; 0 = 100", atLeast0),
  "audit-log-compress": flag("bool", false, "compress old audit logs"),
  ...delivery("audit-log", { mode: "blocking", maxSize: 1, maxWaitMs: 0, throttled: false }),
  "audit-webhook-config-file": flag("string", "", "kubeconfig of the server that takes events"),
  "audit-webhook-initial-backoff": flag("duration", 10_000, "wait before the second try"),
  ...delivery("audit-webhook", { mode: "batch", maxSize: 400, maxWaitMs: 30_000, throttled: true }),
} as const;

interface Defaults {
  readonly mode: AuditMode;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly throttled: boolean;
}

/** Both backends know these. */
function delivery<P extends "audit-log" | "audit-webhook">(prefix: P, initial: Defaults) {
  const flags = {
    version: flag("string", "audit.k8s.io/v1", "version of the events"),
    mode: flag("string", initial.mode, "whether requests wait for their events", {
      values: modes,
    }),
    "batch-buffer-size": flag("int", 10_000, "events that may wait (batch mode)", atLeast1),
    "batch-max-size": flag("int", initial.maxSize, "events that leave together", atLeast1),
    "batch-max-wait": flag("duration", initial.maxWaitMs, "longest wait for a full batch"),
    "batch-throttle-enable": flag("bool", initial.throttled, "bound the batches per second"),
    "batch-throttle-qps": flag("int", throttleQps, "batches per second", atLeast1),
    "batch-throttle-burst": flag("int", throttleBurst, "batches at once after a rest", atLeast1),
    "truncate-enabled": flag("bool", false, "cut the bodies out of large events"),
    "truncate-max-batch-size": flag("int", 10 * mebibyte, "bytes of a batch", atLeast1),
    "truncate-max-event-size": flag("int", 100 * 1024, "bytes of an event", atLeast1),
  } as const;
  const named = Object.entries(flags).map(([name, each]) => [`${prefix}-${name}`, each]);
  return Object.fromEntries(named) as {
    readonly [K in keyof typeof flags as `${P}-${K}`]: (typeof flags)[K];
  };
}

type Values = FlagValues<typeof auditFlags>;

/**
 * What the flags ask for; undefined = nothing is recorded.
 * @throws UsageError
 */
export function auditOptions(values: Values): AuditOptions | undefined {
  const file = values["audit-policy-file"];
  const log = logDelivery(values);
  const webhook = webhookDelivery(values);
  if (log === undefined && webhook === undefined) return undefined;
  if (file === "") throw new UsageError("--audit-policy-file is needed to record requests");
  return { policy: readNamed(file, "audit-policy-file"), log, webhook };
}

function logDelivery(values: Values): LogDelivery | undefined {
  const path = values["audit-log-path"];
  if (path === "") return undefined;
  return {
    ...deliveryOf(values, "audit-log"),
    to: path === "-" ? process.stdout : path,
    format: values["audit-log-format"] === "legacy" ? "legacy" : "json",
    rotation: {
      maxBytes: values["audit-log-maxsize"] * mebibyte,
      maxAgeDays: values["audit-log-maxage"],
      maxBackups: values["audit-log-maxbackup"],
      compress: values["audit-log-compress"],
    },
  };
}

function webhookDelivery(values: Values): WebhookDelivery | undefined {
  const name = "audit-webhook-config-file";
  const file = values[name];
  if (file === "") return undefined;
  try {
    return {
      ...deliveryOf(values, "audit-webhook"),
      endpoint: parseKubeconfig(readNamed(file, name), (path) => readFileSync(path, "utf8")),
      initialBackoffMs: values["audit-webhook-initial-backoff"],
    };
  } catch (fault) {
    if (!(fault instanceof KubeconfigFault)) throw fault;
    throw new UsageError(`--${name}: ${fault.message}`);
  }
}

function deliveryOf(values: Values, prefix: "audit-log" | "audit-webhook") {
  if (values[`${prefix}-version`] !== "audit.k8s.io/v1") {
    throw new UsageError(`--${prefix}-version: only audit.k8s.io/v1 is written`);
  }
  return {
    mode: values[`${prefix}-mode`] as AuditMode,
    batch: {
      bufferSize: values[`${prefix}-batch-buffer-size`],
      maxSize: values[`${prefix}-batch-max-size`],
      maxWaitMs: values[`${prefix}-batch-max-wait`],
      throttle: values[`${prefix}-batch-throttle-enable`]
        ? {
            perSecond: values[`${prefix}-batch-throttle-qps`],
            burst: values[`${prefix}-batch-throttle-burst`],
          }
        : undefined,
    },
    truncate: values[`${prefix}-truncate-enabled`]
      ? {
          maxEventSize: values[`${prefix}-truncate-max-event-size`],
          maxBatchSize: values[`${prefix}-truncate-max-batch-size`],
        }
      : undefined,
  };
}
