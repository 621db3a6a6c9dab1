import type { Instruments, MetricDefinition } from "#request";
import { isAvailable } from "./api-services.ts";
import type { ApiService, ApiServiceCondition } from "./contract.ts";

const unavailable = "aggregator_unavailable_apiservice";
const unavailableTotal = "aggregator_unavailable_apiservice_total";

/** Metrics of kube-aggregator. */
export const aggregatorMetrics: readonly MetricDefinition[] = [
  {
    name: unavailable,
    kind: "gauge",
    help: "Whether an APIService is marked as unavailable, by APIService name: 1 = unavailable.",
    labels: ["name"],
  },
  {
    name: unavailableTotal,
    kind: "counter",
    help: "Number of times an APIService became unavailable, by APIService name and reason.",
    labels: ["name", "reason"],
  },
];

/** Sets the gauge to the current condition of the APIService. */
export function recordAvailability(
  instruments: Instruments,
  name: string,
  { status }: Pick<ApiServiceCondition, "status">,
): void {
  instruments.set(unavailable, { name }, status === "True" ? 0 : 1);
}

/** Counts the transition of an APIService from available to unavailable. */
export function countUnavailable(
  instruments: Instruments,
  before: ApiService,
  { status, reason = "UnknownReason" }: ApiServiceCondition,
): void {
  if (status === "True" || !isAvailable(before)) return;
  instruments.add(unavailableTotal, { name: before.metadata.name, reason }, 1);
}

/** Removes the gauge of a deleted APIService. */
export function deleteAvailability(instruments: Instruments, name: string): void {
  instruments.remove(unavailable, { name });
}
