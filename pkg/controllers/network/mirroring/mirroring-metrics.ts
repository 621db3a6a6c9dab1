/** Metrics of EndpointSlice mirroring, named as in kube-controller-manager. */
import type { Instruments, MetricDefinition } from "#request";

const prefix = "endpoint_slice_mirroring_controller_";
const perSync = Array.from({ length: 15 }, (_, index) => 2 ** (index + 1));
const histogram = (name: string, help: string, buckets = perSync): MetricDefinition => ({
  name: `${prefix}${name}`,
  kind: "histogram",
  help,
  labels: [],
  buckets,
});
const gauge = (name: string, help: string): MetricDefinition => ({
  name: `${prefix}${name}`,
  kind: "gauge",
  help,
  labels: [],
});

export const mirroringMetrics: readonly MetricDefinition[] = [
  histogram("endpoints_added_per_sync", "Number of endpoints that a sync of Endpoints adds."),
  histogram("endpoints_updated_per_sync", "Number of endpoints that a sync of Endpoints changes."),
  histogram("endpoints_removed_per_sync", "Number of endpoints that a sync of Endpoints removes."),
  histogram(
    "addresses_skipped_per_sync",
    "Number of addresses that are invalid or too many for a mirrored EndpointSlice.",
  ),
  histogram(
    "endpoints_sync_duration",
    "Time in seconds that a sync of Endpoints takes.",
    Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index),
  ),
  gauge("endpoints_desired", "Number of endpoints that mirrored EndpointSlices should have."),
  gauge("num_endpoint_slices", "Number of mirrored EndpointSlices."),
  gauge("desired_endpoint_slices", "Number of mirrored EndpointSlices if all were full."),
  {
    name: `${prefix}changes`,
    kind: "counter",
    help: "Number of creations, updates and deletions of mirrored EndpointSlices.",
    labels: ["operation"],
  },
];

/** Numbers of addresses that one sync of an Endpoints object changes and skips. */
export interface MirrorCounts {
  added: number;
  updated: number;
  removed: number;
  skipped: number;
}

interface Figures {
  readonly endpoints: number;
  readonly slices: number;
}

export class MirroringMetrics {
  private readonly figures = new Map<string, Figures>();

  constructor(private readonly instruments: Instruments) {
    instruments.beforeRead(() => this.setGauges());
  }

  wrote(operation: string): void {
    this.instruments.add(`${prefix}changes`, { operation }, 1);
  }

  mirrored(key: string, counts: MirrorCounts, figures: Figures): void {
    const { added, updated, removed, skipped } = counts;
    this.figures.set(key, figures);
    this.instruments.observe(`${prefix}endpoints_added_per_sync`, {}, added);
    this.instruments.observe(`${prefix}endpoints_updated_per_sync`, {}, updated);
    this.instruments.observe(`${prefix}endpoints_removed_per_sync`, {}, removed);
    this.instruments.observe(`${prefix}addresses_skipped_per_sync`, {}, skipped);
  }

  synced(seconds: number): void {
    this.instruments.observe(`${prefix}endpoints_sync_duration`, {}, seconds);
  }

  forget(key: string): void {
    this.figures.delete(key);
  }

  private setGauges(): void {
    const all = [...this.figures.values()];
    const slices = all.reduce((sum, each) => sum + each.slices, 0);
    const endpoints = all.reduce((sum, each) => sum + each.endpoints, 0);
    this.instruments.set(`${prefix}endpoints_desired`, {}, endpoints);
    this.instruments.set(`${prefix}num_endpoint_slices`, {}, slices);
    this.instruments.set(`${prefix}desired_endpoint_slices`, {}, slices);
  }
}
