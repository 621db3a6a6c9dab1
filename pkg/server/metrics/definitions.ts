/**
 * Metrics of the server, with the names, labels and buckets of kube-apiserver, so that its
 * dashboards and alerts work unchanged.
 */
import type { MetricDefinition } from "#request";

function exponential(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}

const resourceLabels = ["group", "version", "resource", "subresource", "scope", "component"];
const requestLabels = ["verb", "dry_run", ...resourceLabels];

const sliSeconds = [
  0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const accessSeconds = exponential(0.001, 2, 15);
const filterSeconds = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30];

function counter(name: string, help: string, labels: readonly string[]): MetricDefinition {
  return { name, kind: "counter", help, labels };
}

function gauge(name: string, help: string, labels: readonly string[]): MetricDefinition {
  return { name, kind: "gauge", help, labels };
}

export const requestMetrics = {
  total: counter(
    "apiserver_request_total",
    "Number of API requests by verb, dry-run value, resource, scope and HTTP response code.",
    [...requestLabels, "code"],
  ),
  duration: {
    name: "apiserver_request_duration_seconds",
    kind: "histogram",
    help: "Latency of API requests in seconds, without long-running requests such as watches.",
    labels: requestLabels,
    buckets: [0.005, 0.025, ...sliSeconds],
  },
  sli: {
    name: "apiserver_request_sli_duration_seconds",
    kind: "histogram",
    help: "Latency of API requests in seconds for service-level indicators, without long-running ones.",
    labels: requestLabels,
    buckets: sliSeconds,
  },
  sizes: {
    name: "apiserver_response_sizes",
    kind: "histogram",
    help: "Size of the responses to read requests in bytes.",
    labels: ["verb", ...resourceLabels],
    buckets: exponential(1000, 10, 7),
  },
  terminations: counter(
    "apiserver_request_terminations_total",
    "Number of requests that the server rejected or aborted, for example on overload or timeout.",
    ["code", "verb", ...resourceLabels],
  ),
  long: {
    ...gauge(
      "apiserver_longrunning_requests",
      "Number of active long-running requests, such as watches and proxied connections.",
      ["verb", ...resourceLabels],
    ),
    addsUp: true,
  },
  inflight: {
    ...gauge(
      "apiserver_current_inflight_requests",
      "Number of requests in flight, by request kind.",
      ["request_kind"],
    ),
    addsUp: true,
  },
  deprecated: gauge(
    "apiserver_requested_deprecated_apis",
    "Deprecated APIs that have been requested, by the release that removes them.",
    ["group", "version", "resource", "subresource", "removed_release"],
  ),
  filter: {
    name: "apiserver_request_filter_duration_seconds",
    kind: "histogram",
    help: "Latency that each filter of the request chain adds, in seconds.",
    labels: ["filter"],
    buckets: filterSeconds,
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const watchMetrics = {
  events: counter("apiserver_watch_events_total", "Number of events sent to watch clients.", [
    "group",
    "version",
    "resource",
  ]),
  sizes: {
    name: "apiserver_watch_events_sizes",
    kind: "histogram",
    help: "Size of the events sent to watch clients, in bytes.",
    labels: ["group", "version", "resource"],
    buckets: exponential(1024, 2, 8),
  },
  delivery: {
    name: "keelson_watch_delivery_seconds",
    kind: "histogram",
    help:
      "Time from the commit of a change, or from its arrival if another server wrote it, until it " +
      "is sent to a watch client, in seconds, for the oldest change of each batch.",
    labels: ["group", "resource"],
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
  },
  terminated: counter(
    "apiserver_terminated_watchers_total",
    "Number of watchers closed because their clients did not read fast enough.",
    ["group", "resource"],
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const hour = 3600;
const day = 24 * hour;

export const accessMetrics = {
  certificates: {
    name: "apiserver_client_certificate_expiration_seconds",
    kind: "histogram",
    help: "Remaining lifetime of client certificates when they authenticate a request, in seconds.",
    labels: [],
    buckets: [
      0,
      ...[0.5, 1, 2, 6, 12].map((hours) => hours * hour),
      ...[1, 2, 4, 7, 30, 90, 180, 360].map((days) => days * day),
    ],
  },
  users: counter("authenticated_user_requests", "Number of authenticated requests, by user name.", [
    "username",
  ]),
  attempts: counter("authentication_attempts", "Number of authentication attempts, by result.", [
    "result",
  ]),
  authenticationSeconds: {
    name: "authentication_duration_seconds",
    kind: "histogram",
    help: "Latency of authentication in seconds, by result.",
    labels: ["result"],
    buckets: accessSeconds,
  },
  decisions: counter(
    "authorization_attempts_total",
    "Number of authorization decisions, by result.",
    ["result"],
  ),
  authorizationSeconds: {
    name: "authorization_duration_seconds",
    kind: "histogram",
    help: "Latency of authorization in seconds, by result.",
    labels: ["result"],
    buckets: accessSeconds,
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const healthMetrics = {
  state: gauge(
    "kubernetes_healthcheck",
    "Result of the most recent run of a health check: 1 = passed, 0 = failed.",
    ["name", "type"],
  ),
  total: counter("kubernetes_healthchecks_total", "Number of health check results, by status.", [
    "name",
    "type",
    "status",
  ]),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const serverMetrics = {
  handshakeErrors: counter(
    "apiserver_tls_handshake_errors_total",
    "Number of connections whose TLS handshake failed.",
    [],
  ),
  stalls: counter(
    "keelson_event_loop_stalls_total",
    "Number of event loop stalls: synchronous work that blocked the event loop noticeably.",
    [],
  ),
  stallSeconds: counter(
    "keelson_event_loop_stall_seconds_total",
    "Total duration of event loop stalls in seconds.",
    [],
  ),
  build: gauge(
    "kubernetes_build_info",
    "Build information of this release; the value is always 1.",
    [
      "build_date",
      "compiler",
      "git_commit",
      "git_tree_state",
      "git_version",
      "go_version",
      "major",
      "minor",
      "platform",
    ],
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;
