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

/** Audit flags, with kube-apiserver's names, meanings and defaults. */
export const auditFlags = {
  "audit-policy-file": flag("string", "", "file with the audit policy (audit.k8s.io/v1 Policy)"),
  "audit-log-path": flag(
    "string",
    "",
    "file to which audit events are written; - = standard output",
  ),
  "audit-log-format": flag("string", "json", "format of the audit log", {
    values: ["json", "legacy"],
  }),
  "audit-log-maxage": flag(
    "int",
    0,
    "days for which rotated audit logs are retained; 0 = no limit",
    atLeast0,
  ),
  "audit-log-maxbackup": flag(
    "int",
    0,
    "number of rotated audit logs to retain; 0 = no limit",
    atLeast0,
  ),
  "audit-log-maxsize": flag(
    "int",
    0,
    "size in MiB at which the audit log is rotated; 0 = 100 MiB",
    atLeast0,
  ),
  "audit-log-compress": flag("bool", false, "compress rotated audit logs with gzip"),
  ...delivery("audit-log", { mode: "blocking", maxSize: 1, maxWaitMs: 0, throttled: false }),
  "audit-webhook-config-file": flag(
    "string",
    "",
    "kubeconfig file with the URL and credentials of the audit webhook",
  ),
  "audit-webhook-initial-backoff": flag(
    "duration",
    10_000,
    "delay before the first retry of a failed request to the audit webhook",
  ),
  ...delivery("audit-webhook", { mode: "batch", maxSize: 400, maxWaitMs: 30_000, throttled: true }),
} as const;

interface Defaults {
  readonly mode: AuditMode;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  readonly throttled: boolean;
}

/** Flags that bound the size of events and batches. */
function truncation() {
  return {
    "truncate-enabled": flag("bool", false, "truncate events and batches that are too large"),
    "truncate-max-batch-size": flag(
      "int",
      10 * mebibyte,
      "maximum size of a batch in bytes; larger ones are split (with truncation)",
      atLeast1,
    ),
    "truncate-max-event-size": flag(
      "int",
      100 * 1024,
      "maximum size of an event in bytes; larger ones lose their request and response bodies " +
        "(with truncation)",
      atLeast1,
    ),
  } as const;
}

/** Flags that the log and the webhook backend share. */
function delivery<P extends "audit-log" | "audit-webhook">(prefix: P, initial: Defaults) {
  const flags = {
    version: flag("string", "audit.k8s.io/v1", "API version of written events", {
      values: ["audit.k8s.io/v1"],
    }),
    mode: flag(
      "string",
      initial.mode,
      "how events are sent: batch buffers them and sends them asynchronously, blocking delays " +
        "the response until the event is sent, blocking-strict also fails the request if its " +
        "RequestReceived event cannot be sent",
      { values: modes },
    ),
    "batch-buffer-size": flag(
      "int",
      10_000,
      "size of the buffer of events that wait for batching (batch mode)",
      atLeast1,
    ),
    "batch-max-size": flag(
      "int",
      initial.maxSize,
      "maximum number of events in a batch (batch mode)",
      atLeast1,
    ),
    "batch-max-wait": flag(
      "duration",
      initial.maxWaitMs,
      "maximum wait before a batch that is not full is written (batch mode)",
    ),
    "batch-throttle-enable": flag(
      "bool",
      initial.throttled,
      "limit the rate at which batches are written (batch mode)",
    ),
    "batch-throttle-qps": flag(
      "int",
      throttleQps,
      "maximum average number of batches per second (batch mode)",
      atLeast1,
    ),
    "batch-throttle-burst": flag(
      "int",
      throttleBurst,
      "maximum burst of batches above the average rate (batch mode)",
      atLeast1,
    ),
    ...truncation(),
  } as const;
  const named = Object.entries(flags).map(([name, each]) => [`${prefix}-${name}`, each]);
  return Object.fromEntries(named) as {
    readonly [K in keyof typeof flags as `${P}-${K}`]: (typeof flags)[K];
  };
}

type Values = FlagValues<typeof auditFlags>;

/**
 * The audit backends that the flags configure; undefined for none.
 * @throws UsageError
 */
export function auditOptions(values: Values): AuditOptions | undefined {
  const file = values["audit-policy-file"];
  const log = logDelivery(values);
  const webhook = webhookDelivery(values);
  if (log === undefined && webhook === undefined) return undefined;
  if (file === "") throw new UsageError("--audit-policy-file is required to write audit events");
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
