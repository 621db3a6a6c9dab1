/**
 * The figures of the server under the names, labels and buckets of kube-apiserver, so that its
 * dashboards and alerts fit.
 */
import type { MetricDefinition } from "#request";

function exponential(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}

const place = ["group", "version", "resource", "subresource", "scope", "component"];
const request = ["verb", "dry_run", ...place];

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
  total: counter("apiserver_request_total", "Requests by what they were and how they ended.", [
    ...request,
    "code",
  ]),
  duration: {
    name: "apiserver_request_duration_seconds",
    kind: "histogram",
    help: "Time that requests took, without watches and other long ones.",
    labels: request,
    buckets: [0.005, 0.025, ...sliSeconds],
  },
  sli: {
    name: "apiserver_request_sli_duration_seconds",
    kind: "histogram",
    help: "Time that requests took, without watches and other long ones, for objectives.",
    labels: request,
    buckets: sliSeconds,
  },
  sizes: {
    name: "apiserver_response_sizes",
    kind: "histogram",
    help: "Bytes of the responses to reads.",
    labels: ["verb", ...place],
    buckets: exponential(1000, 10, 7),
  },
  terminations: counter(
    "apiserver_request_terminations_total",
    "Requests that were ended for want of seats or of time.",
    ["code", "verb", ...place],
  ),
  long: {
    ...gauge("apiserver_longrunning_requests", "Watches and other long requests at work now.", [
      "verb",
      ...place,
    ]),
    addsUp: true,
  },
  inflight: {
    ...gauge("apiserver_current_inflight_requests", "Requests at work now, by kind.", [
      "request_kind",
    ]),
    addsUp: true,
  },
  deprecated: gauge("apiserver_requested_deprecated_apis", "Deprecated APIs in use.", [
    "group",
    "version",
    "resource",
    "subresource",
    "removed_release",
  ]),
  filter: {
    name: "apiserver_request_filter_duration_seconds",
    kind: "histogram",
    help: "Time that requests spent in a stage before it passed them on.",
    labels: ["filter"],
    buckets: filterSeconds,
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const watchMetrics = {
  events: counter("apiserver_watch_events_total", "Events that were sent to watches.", [
    "group",
    "version",
    "resource",
  ]),
  sizes: {
    name: "apiserver_watch_events_sizes",
    kind: "histogram",
    help: "Bytes of the events that were sent to watches.",
    labels: ["group", "version", "resource"],
    buckets: exponential(1024, 2, 8),
  },
  terminated: counter(
    "apiserver_terminated_watchers_total",
    "Watches that were ended because their clients took nothing.",
    ["group", "resource"],
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const hour = 3600;
const day = 24 * hour;

export const accessMetrics = {
  certificates: {
    name: "apiserver_client_certificate_expiration_seconds",
    kind: "histogram",
    help: "How long the certificates of clients still had to live when they were shown.",
    labels: [],
    buckets: [
      0,
      ...[0.5, 1, 2, 6, 12].map((hours) => hours * hour),
      ...[1, 2, 4, 7, 30, 90, 180, 360].map((days) => days * day),
    ],
  },
  users: counter("authenticated_user_requests", "Requests with a known user.", ["username"]),
  attempts: counter("authentication_attempts", "Attempts to find out who asks.", ["result"]),
  authenticationSeconds: {
    name: "authentication_duration_seconds",
    kind: "histogram",
    help: "Time that it took to find out who asks.",
    labels: ["result"],
    buckets: accessSeconds,
  },
  decisions: counter("authorization_attempts_total", "Decisions on whether a user may.", [
    "result",
  ]),
  authorizationSeconds: {
    name: "authorization_duration_seconds",
    kind: "histogram",
    help: "Time that it took to decide whether a user may.",
    labels: ["result"],
    buckets: accessSeconds,
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const healthMetrics = {
  state: gauge("kubernetes_healthcheck", "Whether a check passed when it was last asked.", [
    "name",
    "type",
  ]),
  total: counter("kubernetes_healthchecks_total", "Checks by how they ended.", [
    "name",
    "type",
    "status",
  ]),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export const serverMetrics = {
  handshakeErrors: counter(
    "apiserver_tls_handshake_errors_total",
    "Connections that did not get as far as TLS.",
    [],
  ),
  stalls: counter(
    "keelson_event_loop_stalls_total",
    "Times that one piece of work held the event loop noticeably.",
    [],
  ),
  stallSeconds: counter(
    "keelson_event_loop_stall_seconds_total",
    "Time for which the event loop was held noticeably.",
    [],
  ),
  build: gauge("kubernetes_build_info", "The release that is running.", [
    "build_date",
    "compiler",
    "git_commit",
    "git_tree_state",
    "git_version",
    "go_version",
    "major",
    "minor",
    "platform",
  ]),
} as const satisfies Readonly<Record<string, MetricDefinition>>;
