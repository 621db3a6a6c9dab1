import { rangeAllocation } from "#api";
import {
  applyDefaults,
  fromJson,
  fromProtobuf,
  parseJson,
  toJson,
  toProtobuf,
  unwrapEnvelope,
  wrapEnvelope,
} from "#schema";
import type { Entry } from "#storage";
import type { RegistryContext } from "../context.ts";
import { PortSet, rangeText } from "./port-set.ts";
import type { PortRange } from "../contract.ts";

/** kube-apiserver's key, so that both can share a store. */
const key = "/ranges/servicenodeports";
const typeMeta = { kind: "RangeAllocation", apiVersion: "v1" };

/** A change of the set, repeated after a conflict; changes nothing if it throws. */
type PortChange<T> = (ports: PortSet) => T;

interface Waiting {
  readonly change: PortChange<unknown>;
  readonly resolve: (value: any) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The node ports of the cluster, in one RangeAllocation that all replicas change by compare-and-swap.
 * Changes that arrive during a write are batched into the next one, which saves round trips.
 */
export class PortLedger {
  private waiting: Waiting[] = [];
  private working = false;

  constructor(
    private readonly registry: Pick<RegistryContext, "store" | "storageMediaType">,
    readonly range: PortRange,
  ) {}

  /** Applies the change; resolves to its result once it is stored. */
  change<T>(change: PortChange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ change, resolve, reject });
      if (!this.working) void this.work();
    });
  }

  /** The stored set. */
  async stored(): Promise<PortSet> {
    const { entry } = await this.registry.store.get(key);
    return this.decode(entry);
  }

  private async work(): Promise<void> {
    this.working = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting;
      this.waiting = [];
      try {
        const settle = await this.write(batch);
        settle.forEach((each) => each());
      } catch (error) {
        batch.forEach(({ reject }) => reject(error));
      }
    }
    this.working = false;
  }

  /** Stores a batch of changes; returns a function for each that settles its promise. */
  private async write(batch: readonly Waiting[]): Promise<readonly (() => void)[]> {
    const { store } = this.registry;
    let { entry } = await store.get(key);
    for (;;) {
      const before = this.decode(entry);
      let ports = before;
      const settle = batch.map(({ change, resolve, reject }) => {
        const tried = ports.clone();
        try {
          const result = change(tried);
          ports = tried;
          return () => resolve(result);
        } catch (error) {
          return () => reject(error);
        }
      });
      if (entry !== undefined && ports.data() === before.data()) return settle;
      const value = this.encode(ports, entry);
      if (entry === undefined) {
        if ((await store.create(key, value)) !== undefined) return settle;
        ({ entry } = await store.get(key));
      } else {
        const outcome = await store.update(key, entry.modRevision, value);
        if (outcome.done) return settle;
        entry = outcome.current;
      }
    }
  }

  private decode(entry: Entry | undefined): PortSet {
    if (entry === undefined) return PortSet.empty(this.range);
    return PortSet.stored(this.range, parse(entry.value));
  }

  private encode(ports: PortSet, entry: Entry | undefined): Uint8Array {
    const { metadata } = entry === undefined ? { metadata: {} } : parse(entry.value);
    const object = { metadata, range: rangeText(this.range), data: ports.data() };
    return this.registry.storageMediaType === "protobuf"
      ? wrapEnvelope(typeMeta, toProtobuf(rangeAllocation, object))
      : Buffer.from(toJson(rangeAllocation, object, typeMeta));
  }
}

function parse(bytes: Uint8Array): { metadata: any; range: string; data: string } {
  const envelope = unwrapEnvelope(bytes);
  const object =
    envelope === undefined
      ? fromJson(rangeAllocation, parseJson(bytes).value, { root: true })
      : fromProtobuf(rangeAllocation, envelope.raw);
  applyDefaults(rangeAllocation, object);
  return object;
}
