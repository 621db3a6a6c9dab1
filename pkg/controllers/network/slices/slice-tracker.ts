import type { Clock } from "#base";
import { type Informer, objectKey } from "#client";
import type { EndpointSlice } from "#kinds";
import { type Domain, resolve } from "#meta";

export interface SliceTrackerOptions {
  readonly slices: Informer<EndpointSlice>;
  readonly domain: Domain;
  readonly clock: Clock;
  /** Value of the label managed-by of the controller's slices. */
  readonly manager: string;
  /** Called with the Service's key when another client has changed a slice. */
  readonly changed: (serviceKey: string) => void;
}

const indexName = "service";
/** Time after which a write that the informer does not show is ignored. */
const timeoutMs = 300_000;

interface Write {
  /** Infinity = the slice was deleted. */
  readonly generation: number;
  /** Monotonic time in milliseconds. */
  readonly at: number;
}

/**
 * EndpointSlices of a controller by Service, with its writes that the informer does not show yet: until then
 * the cache is stale, and a sync would create duplicate slices.
 */
export class SliceTracker {
  /** By key of the Service and uid of the slice. */
  private readonly written = new Map<string, Map<string, Write>>();
  private readonly managedBy: string;
  private readonly serviceName: string;

  constructor(private readonly options: SliceTrackerOptions) {
    const { domain, slices } = options;
    this.managedBy = resolve("endpointslice.{label}/managed-by", domain);
    this.serviceName = resolve("{label}/service-name", domain);
    slices.addIndex(indexName, (slice) => [this.serviceKey(slice)]);
    slices.subscribe((change) => {
      const { type, object } = change;
      if (type === "deleted") return this.deleted(object);
      const before = type === "updated" ? change.before : object;
      if (this.serviceKey(before) !== this.serviceKey(object)) {
        for (const each of [before, object]) options.changed(this.serviceKey(each));
      } else if (this.isManaged(before) !== this.isManaged(object) || this.isForeign(object)) {
        options.changed(this.serviceKey(object));
      }
    });
  }

  /** The controller's slices of a Service; null lists are normalized to empty ones. */
  of(key: string): readonly EndpointSlice[] {
    return this.options.slices
      .indexed(indexName, key)
      .filter((slice) => this.isManaged(slice))
      .map((slice) => ({ ...slice, endpoints: slice.endpoints ?? [], ports: slice.ports ?? [] }));
  }

  /** Whether the informer lacks a write for the Service. */
  isStale(key: string, slices: readonly EndpointSlice[]): boolean {
    const written = this.written.get(key);
    if (written === undefined) return false;
    const since = this.options.clock.monotonic() - timeoutMs;
    const cached = new Map(
      slices.map(({ metadata }) => [metadata.uid, Number(metadata.generation ?? 0)]),
    );
    return [...written].some(([uid, { generation, at }]) => {
      if (at < since) return false;
      const seen = cached.get(uid);
      return seen === undefined ? generation !== Infinity : generation > seen;
    });
  }

  /** Called with the response of a create or update. */
  wrote(slice: EndpointSlice): void {
    this.note(slice, Number(slice.metadata.generation ?? 0));
  }

  /** Called after a deletion; the informer may have shown it before. */
  hasDeleted(slice: EndpointSlice): void {
    const cached = this.options.slices.get(objectKey(slice));
    if (cached?.metadata.uid === slice.metadata.uid) this.note(slice, Infinity);
    else this.written.get(this.serviceKey(slice))?.delete(slice.metadata.uid);
  }

  forget(key: string): void {
    this.written.delete(key);
  }

  private note(slice: EndpointSlice, generation: number): void {
    const key = this.serviceKey(slice);
    const written = this.written.get(key) ?? new Map<string, Write>();
    written.set(slice.metadata.uid, { generation, at: this.options.clock.monotonic() });
    this.written.set(key, written);
  }

  private deleted(slice: EndpointSlice): void {
    if (!this.isManaged(slice)) return;
    const key = this.serviceKey(slice);
    const { uid } = slice.metadata;
    const known = this.written.get(key)?.get(uid);
    this.written.get(key)?.delete(uid);
    if (known !== undefined && known.generation !== Infinity) this.options.changed(key);
  }

  /** Whether another client has written the slice. */
  private isForeign(slice: EndpointSlice): boolean {
    if (!this.isManaged(slice)) return false;
    const known = this.written.get(this.serviceKey(slice))?.get(slice.metadata.uid);
    return known === undefined || Number(slice.metadata.generation ?? 0) > known.generation;
  }

  private isManaged({ metadata }: EndpointSlice): boolean {
    return metadata.labels?.[this.managedBy] === this.options.manager;
  }

  private serviceKey({ metadata }: EndpointSlice): string {
    return `${metadata.namespace ?? ""}/${metadata.labels?.[this.serviceName] ?? ""}`;
  }
}
