import type { MetricDefinition } from "#request";

const queueSeconds = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const requestSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const queue = ["name"];
const request = ["verb", "host"];

/** Metrics of work queues, API clients and leader election, with the names of client-go. */
export const clientMetrics: readonly MetricDefinition[] = [
  {
    name: "workqueue_depth",
    kind: "gauge",
    help: "Number of keys waiting in a work queue.",
    labels: queue,
  },
  {
    name: "workqueue_adds_total",
    kind: "counter",
    help: "Number of keys added to a work queue.",
    labels: queue,
  },
  {
    name: "workqueue_queue_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that a key waits in a work queue before it is processed.",
    labels: queue,
    buckets: queueSeconds,
  },
  {
    name: "workqueue_work_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that processing a key takes.",
    labels: queue,
    buckets: queueSeconds,
  },
  {
    name: "workqueue_unfinished_work_seconds",
    kind: "gauge",
    help: "Total time in seconds that the keys in processing have taken so far.",
    labels: queue,
  },
  {
    name: "workqueue_longest_running_processor_seconds",
    kind: "gauge",
    help: "Time in seconds that the longest running key in processing has taken so far.",
    labels: queue,
  },
  {
    name: "workqueue_retries_total",
    kind: "counter",
    help: "Number of keys that were retried after a failure.",
    labels: queue,
  },
  {
    name: "rest_client_requests_total",
    kind: "counter",
    help: "Number of requests to the API server, by status code, method and host.",
    labels: ["code", "method", "host"],
  },
  {
    name: "rest_client_request_retries_total",
    kind: "counter",
    help: "Number of request retries, by status code, verb and host.",
    labels: ["code", "verb", "host"],
  },
  {
    name: "rest_client_request_duration_seconds",
    kind: "histogram",
    help: "Time in seconds from sending a request to its response headers, by verb and host.",
    labels: request,
    buckets: requestSeconds,
  },
  {
    name: "rest_client_rate_limiter_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that requests wait for the client-side rate limiter.",
    labels: request,
    buckets: requestSeconds,
  },
  {
    name: "leader_election_master_status",
    kind: "gauge",
    help: "Whether this process is the leader of the named lease: 1 = leader, 0 = standby.",
    labels: ["name"],
  },
];
