import type { MetricDefinition } from "#request";

const queueSeconds = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const requestSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const queue = ["name"];
const request = ["verb", "host"];

/** What queues, connections and elections tell, under the names that dashboards know. */
export const clientMetrics: readonly MetricDefinition[] = [
  {
    name: "workqueue_depth",
    kind: "gauge",
    help: "Keys that wait in a work queue.",
    labels: queue,
  },
  {
    name: "workqueue_adds_total",
    kind: "counter",
    help: "Keys that were added to a work queue.",
    labels: queue,
  },
  {
    name: "workqueue_queue_duration_seconds",
    kind: "histogram",
    help: "How long keys wait in a work queue.",
    labels: queue,
    buckets: queueSeconds,
  },
  {
    name: "workqueue_work_duration_seconds",
    kind: "histogram",
    help: "How long the work of a key takes.",
    labels: queue,
    buckets: queueSeconds,
  },
  {
    name: "workqueue_unfinished_work_seconds",
    kind: "gauge",
    help: "How long the work that is under way has taken, all together.",
    labels: queue,
  },
  {
    name: "workqueue_longest_running_processor_seconds",
    kind: "gauge",
    help: "How long the oldest work that is under way has taken.",
    labels: queue,
  },
  {
    name: "workqueue_retries_total",
    kind: "counter",
    help: "Keys that came back after a failure.",
    labels: queue,
  },
  {
    name: "rest_client_requests_total",
    kind: "counter",
    help: "Requests to the API server, by the status of the answer.",
    labels: ["code", "method", "host"],
  },
  {
    name: "rest_client_request_retries_total",
    kind: "counter",
    help: "Requests that were sent once more.",
    labels: ["code", "verb", "host"],
  },
  {
    name: "rest_client_request_duration_seconds",
    kind: "histogram",
    help: "Time until the answer to a request begins.",
    labels: request,
    buckets: requestSeconds,
  },
  {
    name: "rest_client_rate_limiter_duration_seconds",
    kind: "histogram",
    help: "How long requests are held back by the client itself.",
    labels: request,
    buckets: requestSeconds,
  },
  {
    name: "leader_election_master_status",
    kind: "gauge",
    help: "1 while this process leads, else 0.",
    labels: ["name"],
  },
];
