import type { MetricDefinition } from "#request";

const prefix = "apiserver_flowcontrol_";
const level = ["priority_level"];
const flow = ["priority_level", "flow_schema"];
const durations = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const eachNanosecond = "weighted by nanoseconds";

function counter(name: string, help: string, labels: readonly string[]): MetricDefinition {
  return { name: prefix + name, kind: "counter", help, labels };
}

/** Gauge whose values add up over the processes of one server. */
function gauge(name: string, help: string, labels: readonly string[] = level): MetricDefinition {
  return { name: prefix + name, kind: "gauge", help, labels, addsUp: true };
}

/** Gauge of which the highest of several processes is shown. */
function highest(name: string, help: string, labels: readonly string[] = level): MetricDefinition {
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
 * Metrics of API Priority and Fairness under the names, labels and buckets of Kubernetes 1.34.
 * request_concurrency_limit and request_concurrency_in_use, which 1.34 hides, are left out.
 */
export const flowControlMetrics = {
  rejected: counter(
    "rejected_requests_total",
    "Number of requests that API Priority and Fairness rejected, by reason.",
    [...flow, "reason"],
  ),
  dispatched: counter(
    "dispatched_requests_total",
    "Number of requests that API Priority and Fairness let execute.",
    flow,
  ),
  seatUtilization: histogram(
    "priority_level_seat_utilization",
    `Seats in use as a fraction of the current limit, ${eachNanosecond}.`,
    {
      labels: ["phase", "priority_level"],
      buckets: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    },
  ),
  requestUtilization: histogram(
    "priority_level_request_utilization",
    `Requests that wait or execute as a fraction of the relevant limit, ${eachNanosecond}.`,
    {
      labels: ["phase", "priority_level"],
      buckets: [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1],
    },
  ),
  currentRequests: histogram(
    "read_vs_write_current_requests",
    `Requests that wait or execute as a fraction of the relevant limit, ${eachNanosecond}.`,
    {
      labels: ["phase", "request_kind"],
      buckets: [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1],
    },
  ),
  currentR: highest("current_r", "R, the progress of fair queuing, at its last change."),
  dispatchR: highest("dispatch_r", "R at the last dispatch."),
  latestS: highest("latest_s", "Virtual start of the most recently dispatched request."),
  nextS: highest(
    "next_s_bounds",
    "Bounds, over the queues, of the virtual start of the oldest waiting request.",
    [...level, "bound"],
  ),
  nextDiscountedS: highest(
    "next_discounted_s_bounds",
    "Bounds, over the queues, of the virtual start of the oldest waiting request less the " +
      "estimated work in progress.",
    [...level, "bound"],
  ),
  queuedRequests: gauge("current_inqueue_requests", "Number of requests that wait.", flow),
  queuedSeats: gauge("current_inqueue_seats", "Number of seats that requests wait for.", flow),
  queueLength: histogram(
    "request_queue_length_after_enqueue",
    "Length of the queue that a request joined, itself included.",
    { buckets: [0, 10, 25, 50, 100, 250, 500, 1000] },
  ),
  executingRequests: gauge(
    "current_executing_requests",
    "Number of requests that execute (for watches: that initialize).",
    flow,
  ),
  executingSeats: gauge(
    "current_executing_seats",
    "Number of seats in use (by watches: while they initialize).",
    flow,
  ),
  waitSeconds: histogram(
    "request_wait_duration_seconds",
    "Time that a request waited in its queue in seconds.",
    { labels: [...flow, "execute"], buckets: durations },
  ),
  executionSeconds: histogram(
    "request_execution_seconds",
    "Time that a request executed (for watches: initialized) in seconds.",
    { labels: [...flow, "type"], buckets: durations },
  ),
  watchCount: histogram(
    "watch_count_samples",
    "Number of watchers that a mutating request notifies, as its work estimate assumes.",
    { buckets: [0, 1, 10, 100, 1000, 10000] },
  ),
  epochAdvances: counter(
    "epoch_advance_total",
    "Number of times the progress meter of a priority level was turned back.",
    [...level, "success"],
  ),
  estimatedSeats: histogram(
    "work_estimated_seats",
    "Seats in the work estimate of a request: the larger of its initial and final seats.",
    { buckets: [1, 2, 4, 8, 16, 32, 64, 100] },
  ),
  notAccommodated: counter(
    "request_dispatch_no_accommodation_total",
    "Number of times the next request to dispatch needed more seats than were free.",
    flow,
  ),
  nominalLimit: gauge("nominal_limit_seats", "Nominal concurrency limit in seats."),
  lowerLimit: gauge("lower_limit_seats", "Lower bound of the concurrency limit in seats."),
  upperLimit: gauge("upper_limit_seats", "Upper bound of the concurrency limit in seats."),
  demand: histogram(
    "demand_seats",
    `Seats that a priority level could use as a fraction of its limit, ${eachNanosecond}.`,
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
  target: gauge("target_seats", "Seats that the last adjustment aimed at."),
  fairFraction: highest(
    "seat_fair_frac",
    "Seats per seat of target that the last adjustment gave to each priority level.",
    [],
  ),
  currentLimit: gauge("current_limit_seats", "Concurrency limit in force in seats."),
} as const satisfies Readonly<Record<string, MetricDefinition>>;
