import type { MetricDefinition } from "#request";

const prefix = "apiserver_flowcontrol_";
const level = ["priority_level"];
const flow = ["priority_level", "flow_schema"];
const durations = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const perNanosecond = "weighted by nanoseconds";

function counter(name: string, help: string, labels: readonly string[]): MetricDefinition {
  return { name: prefix + name, kind: "counter", help, labels };
}

/** A gauge whose values are summed over the processes of one server. */
function gauge(name: string, help: string, labels: readonly string[] = level): MetricDefinition {
  return { name: prefix + name, kind: "gauge", help, labels, addsUp: true };
}

/** A gauge whose maximum over the processes of one server is reported. */
function maxGauge(name: string, help: string, labels: readonly string[] = level): MetricDefinition {
  return { name: prefix + name, kind: "gauge", help, labels };
}

function histogram(
  name: string,
  help: string,
  { labels = flow, buckets }: { labels?: readonly string[]; buckets: readonly number[] },
): MetricDefinition {
  return { name: prefix + name, kind: "histogram", help, labels, buckets };
}

/**
 * Metrics of API Priority and Fairness with the names, labels and buckets of Kubernetes 1.34, without
 * request_concurrency_limit and request_concurrency_in_use, which 1.34 hides.
 */
export const flowControlMetrics = {
  rejected: counter(
    "rejected_requests_total",
    "Number of requests rejected by API Priority and Fairness, by reason.",
    [...flow, "reason"],
  ),
  dispatched: counter(
    "dispatched_requests_total",
    "Number of requests dispatched by API Priority and Fairness.",
    flow,
  ),
  seatUtilization: histogram(
    "priority_level_seat_utilization",
    `Seats in use as a fraction of the current limit, ${perNanosecond}.`,
    {
      labels: ["phase", "priority_level"],
      buckets: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    },
  ),
  requestUtilization: histogram(
    "priority_level_request_utilization",
    `Requests that wait or execute as a fraction of the relevant limit, ${perNanosecond}.`,
    {
      labels: ["phase", "priority_level"],
      buckets: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
    },
  ),
  currentRequests: histogram(
    "read_vs_write_current_requests",
    `Requests that wait or execute as a fraction of the relevant limit, ${perNanosecond}.`,
    {
      labels: ["phase", "request_kind"],
      buckets: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    },
  ),
  currentR: maxGauge("current_r", "R, the progress meter of fair queuing, at its last change."),
  dispatchR: maxGauge("dispatch_r", "R at the last dispatch."),
  latestS: maxGauge("latest_s", "Virtual start of the most recently dispatched request."),
  nextS: maxGauge(
    "next_s_bounds",
    "Bounds, over the queues, of the virtual start of the oldest waiting request.",
    [...level, "bound"],
  ),
  nextDiscountedS: maxGauge(
    "next_discounted_s_bounds",
    "Bounds, over the queues, of the virtual start of the oldest waiting request less the " +
      "estimated work in progress.",
    [...level, "bound"],
  ),
  queuedRequests: gauge("current_inqueue_requests", "Number of requests in queues.", flow),
  queuedSeats: gauge("current_inqueue_seats", "Number of seats requested in queues.", flow),
  queueLength: histogram(
    "request_queue_length_after_enqueue",
    "Length of the queue after a request was added to it.",
    { buckets: [0, 10, 25, 50, 100, 250, 500, 1000] },
  ),
  executingRequests: gauge(
    "current_executing_requests",
    "Number of executing requests (watches: initializing).",
    flow,
  ),
  executingSeats: gauge(
    "current_executing_seats",
    "Number of seats in use by executing requests (watches: initializing).",
    flow,
  ),
  waitSeconds: histogram(
    "request_wait_duration_seconds",
    "Time that a request waited in its queue, in seconds.",
    { labels: [...flow, "execute"], buckets: durations },
  ),
  executionSeconds: histogram(
    "request_execution_seconds",
    "Execution time of a request (watches: of the initialization), in seconds.",
    { labels: [...flow, "type"], buckets: durations },
  ),
  watchCount: histogram(
    "watch_count_samples",
    "Number of watchers that a mutating request notifies, according to its work estimate.",
    { buckets: [0, 1, 10, 100, 1000, 10000] },
  ),
  epochAdvances: counter(
    "epoch_advance_total",
    "Number of epoch advances of the progress meter of a priority level.",
    [...level, "success"],
  ),
  estimatedSeats: histogram(
    "work_estimated_seats",
    "Seats in the work estimate of a request: the larger of its initial and final seats.",
    { buckets: [1, 2, 4, 8, 16, 32, 64, 100] },
  ),
  notAccommodated: counter(
    "request_dispatch_no_accommodation_total",
    "Number of times the next request to dispatch did not fit into the free seats.",
    flow,
  ),
  nominalLimit: gauge("nominal_limit_seats", "Nominal concurrency limit in seats."),
  lowerLimit: gauge("lower_limit_seats", "Lower bound of the concurrency limit in seats."),
  upperLimit: gauge("upper_limit_seats", "Upper bound of the concurrency limit in seats."),
  demand: histogram(
    "demand_seats",
    `Seat demand of a priority level as a fraction of its nominal limit, ${perNanosecond}.`,
    { labels: level, buckets: [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6] },
  ),
  demandHighWatermark: gauge(
    "demand_seats_high_watermark",
    "Highest seat demand of the last adjustment period.",
  ),
  demandAverage: gauge(
    "demand_seats_average",
    "Average seat demand of the last adjustment period.",
  ),
  demandDeviation: gauge(
    "demand_seats_stdev",
    "Standard deviation of the seat demand in the last adjustment period.",
  ),
  demandSmoothed: gauge("demand_seats_smoothed", "Smoothed seat demand."),
  target: gauge("target_seats", "Target of the last adjustment, in seats."),
  fairFraction: maxGauge(
    "seat_fair_frac",
    "Fraction of its target that the last adjustment allocated to each priority level.",
    [],
  ),
  currentLimit: gauge("current_limit_seats", "Current concurrency limit in seats."),
} as const satisfies Readonly<Record<string, MetricDefinition>>;
