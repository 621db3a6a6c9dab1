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

/** Shows the condition that an APIService has now. */
export function showAvailability(
  instruments: Instruments,
  name: string,
  { status }: Pick<ApiServiceCondition, "status">,
): void {
  instruments.set(unavailable, { name }, status === "True" ? 0 : 1);
}

/** Counts an APIService that has just become unavailable. */
export function countUnavailable(
  instruments: Instruments,
  before: ApiService,
  { status, reason = "UnknownReason" }: ApiServiceCondition,
): void {
  if (status === "True" || !isAvailable(before)) return;
  instruments.add(unavailableTotal, { name: before.metadata.name, reason }, 1);
}

/** Stops showing an APIService that was deleted. */
export function forgetAvailability(instruments: Instruments, name: string): void {
  instruments.remove(unavailable, { name });
}
