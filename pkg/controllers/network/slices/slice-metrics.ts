/** Metrics of the EndpointSlice controller, named as in kube-controller-manager. */
import type { Instruments, MetricDefinition } from "#request";

const prefix = "endpoint_slice_controller_";
const perSync = Array.from({ length: 15 }, (_, index) => 2 ** (index + 1));

export const endpointSliceMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}endpoints_added_per_sync`,
    kind: "histogram",
    help: "Number of endpoints that a sync of a Service adds.",
    labels: [],
    buckets: perSync,
  },
  {
    name: `${prefix}endpoints_removed_per_sync`,
    kind: "histogram",
    help: "Number of endpoints that a sync of a Service removes.",
    labels: [],
    buckets: perSync,
  },
  {
    name: `${prefix}endpoints_desired`,
    kind: "gauge",
    help: "Number of endpoints that EndpointSlices should have.",
    labels: [],
  },
  {
    name: `${prefix}num_endpoint_slices`,
    kind: "gauge",
    help: "Number of EndpointSlices of the controller.",
    labels: [],
  },
  {
    name: `${prefix}desired_endpoint_slices`,
    kind: "gauge",
    help: "Number of EndpointSlices that there would be if all were as full as possible.",
    labels: [],
  },
  {
    name: `${prefix}changes`,
    kind: "counter",
    help: "Number of creations, updates and deletions of EndpointSlices.",
    labels: ["operation"],
  },
  {
    name: `${prefix}endpointslices_changed_per_sync`,
    kind: "histogram",
    help: "Number of EndpointSlices that a sync of a Service changes.",
    labels: ["topology", "traffic_distribution"],
  },
  {
    name: `${prefix}syncs`,
    kind: "counter",
    help: "Number of syncs of Services.",
    labels: ["result"],
  },
  {
    name: `${prefix}services_count_by_traffic_distribution`,
    kind: "gauge",
    help: "Number of Services with a traffic distribution.",
    labels: ["traffic_distribution"],
  },
];

/** Gauges of one Service. */
export interface ServiceFigures {
  readonly endpoints: number;
  readonly slices: number;
  /** Minimum number of slices, i.e. if all were full. */
  readonly minSlices: number;
  readonly trafficDistribution: string | undefined;
}

export class SliceMetrics {
  private readonly services = new Map<string, ServiceFigures>();
  private readonly distributions = new Set<string>();

  constructor(private readonly instruments: Instruments) {
    instruments.beforeRead(() => this.setGauges());
  }

  wrote(operation: string): void {
    this.instruments.add(`${prefix}changes`, { operation }, 1);
  }

  packed(added: number, removed: number): void {
    this.instruments.observe(`${prefix}endpoints_added_per_sync`, {}, added);
    this.instruments.observe(`${prefix}endpoints_removed_per_sync`, {}, removed);
  }

  changed(slices: number, hasTopologyHints: boolean, distribution: string | undefined): void {
    const topology = hasTopologyHints ? "Auto" : "Disabled";
    const labels = { topology, traffic_distribution: distribution ?? "" };
    this.instruments.observe(`${prefix}endpointslices_changed_per_sync`, labels, slices);
  }

  synced(result: "success" | "stale" | "error"): void {
    this.instruments.add(`${prefix}syncs`, { result }, 1);
  }

  set(key: string, figures: ServiceFigures): void {
    this.services.set(key, figures);
  }

  forget(key: string): void {
    this.services.delete(key);
  }

  private setGauges(): void {
    const sums = { endpoints: 0, slices: 0, minSlices: 0 };
    const byDistribution = new Map([...this.distributions].map((each) => [each, 0]));
    for (const { endpoints, slices, minSlices, trafficDistribution } of this.services.values()) {
      sums.endpoints += endpoints;
      sums.slices += slices;
      sums.minSlices += minSlices;
      if (trafficDistribution === undefined) continue;
      this.distributions.add(trafficDistribution);
      const count = byDistribution.get(trafficDistribution) ?? 0;
      byDistribution.set(trafficDistribution, count + 1);
    }
    this.instruments.set(`${prefix}endpoints_desired`, {}, sums.endpoints);
    this.instruments.set(`${prefix}num_endpoint_slices`, {}, sums.slices);
    this.instruments.set(`${prefix}desired_endpoint_slices`, {}, sums.minSlices);
    for (const [distribution, count] of byDistribution) {
      const name = `${prefix}services_count_by_traffic_distribution`;
      this.instruments.set(name, { traffic_distribution: distribution }, count);
    }
  }
}
