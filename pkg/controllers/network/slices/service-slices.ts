import { formatIp, ipFamily, parseIp } from "#base";
import { type Informer, objectKey } from "#client";
import {
  type AddressFamily,
  type Endpoint,
  type EndpointPort,
  type EndpointSlice,
  type Node,
  type Pod,
  type Service,
  services as serviceResource,
} from "#kinds";
import { type Domain, resolve } from "#meta";
import { combinedError } from "../../owners/combined-error.ts";
import { isReady } from "../../pods/pod-state.ts";
import {
  endpointHostname,
  isEndpoint,
  isHeadless,
  targetPortOf,
} from "../services/pod-endpoints.ts";
import { inPortOrder, portsKey } from "../services/port-order.ts";
import { formatTriggerTime } from "../services/trigger-times.ts";
import type { SliceMetrics } from "./slice-metrics.ts";
import { endpointKey, packEndpoints, type PlannedSlice } from "./slice-plan.ts";
import { hasSameEntries, type SliceWriter, withoutLabels } from "./slice-writer.ts";
import {
  disabledEvent,
  type HintsEvent,
  removeHints,
  type TopologyHints,
} from "./topology-hints.ts";
import { addDistributionHints, isTrafficDistribution } from "./traffic-distribution.ts";

export interface ServiceSlicesOptions {
  readonly domain: Domain;
  readonly nodes: Informer<Node>;
  readonly writer: SliceWriter;
  readonly hints: TopologyHints;
  readonly metrics: SliceMetrics;
  readonly maxEndpoints: number;
  /** Value of the label managed-by. */
  readonly manager: string;
  readonly record: (service: Service, event: HintsEvent) => void;
}

/** Endpoints of one set of ports. */
interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

/** Reconciles the EndpointSlices of Services with their pods. */
export class ServiceSlices {
  private readonly names: {
    readonly serviceName: string;
    readonly managedBy: string;
    readonly headless: string;
    readonly zone: string;
    readonly triggerTime: string;
    readonly topologyMode: string;
    readonly topologyAwareHints: string;
  };

  constructor(private readonly options: ServiceSlicesOptions) {
    const name = (template: string) => resolve(template, options.domain);
    this.names = {
      serviceName: name("{label}/service-name"),
      managedBy: name("endpointslice.{label}/managed-by"),
      headless: name("service.{label}/headless"),
      zone: name("topology.{label}/zone"),
      triggerTime: name("endpoints.{label}/last-change-trigger-time"),
      topologyMode: name("service.{label}/topology-mode"),
      topologyAwareHints: name("service.{label}/topology-aware-hints"),
    };
  }

  /**
   * @param triggerTime time of the change that caused the sync, in milliseconds since 1970
   * @throws Error that combines failed requests and pods on unknown nodes
   */
  async reconcile(
    service: Service,
    pods: readonly Pod[],
    existing: readonly EndpointSlice[],
    triggerTime: number | undefined,
  ): Promise<void> {
    const families = addressFamilies(service);
    const failures: unknown[] = [];
    const figures = { endpoints: 0, slices: 0, minSlices: 0 };
    for (const family of families) {
      const slices = existing.filter(({ addressType }) => addressType === family);
      const sync = new FamilySync(this, service, family, triggerTime);
      await sync.run(pods, slices).catch((error: unknown) => failures.push(error));
      failures.push(...sync.skipped);
      figures.endpoints += sync.figures.endpoints;
      figures.slices += sync.figures.slices;
      figures.minSlices += sync.figures.minSlices;
    }
    const distribution = this.distributionOf(service);
    const key = objectKey(service);
    this.options.metrics.set(key, { ...figures, trafficDistribution: distribution });
    for (const slice of existing) {
      if (families.some((family) => family === slice.addressType)) continue;
      this.options.hints.remove(key, slice.addressType);
      await this.options.writer.delete(slice).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw combinedError(failures);
  }

  /** Options and names for the sync of one address family. */
  get shared() {
    return { ...this.options, names: this.names };
  }

  hasTopologyHints({ metadata: { annotations = {} } }: Service): boolean {
    const { topologyAwareHints, topologyMode } = this.names;
    const mode = annotations[topologyAwareHints] ?? annotations[topologyMode];
    return mode === "Auto" || mode === "auto";
  }

  /** Traffic distribution of a Service; undefined = none, or overridden by topology-aware hints. */
  distributionOf(service: Service): string | undefined {
    const { trafficDistribution } = service.spec ?? {};
    if (this.hasTopologyHints(service) || !isTrafficDistribution(trafficDistribution))
      return undefined;
    return trafficDistribution;
  }
}

/** One sync of the slices of a Service for one address family. */
class FamilySync {
  /** Errors of skipped pods. */
  readonly skipped: Error[] = [];
  readonly figures = { endpoints: 0, slices: 0, minSlices: 0 };

  constructor(
    private readonly slices: ServiceSlices,
    private readonly service: Service,
    private readonly family: AddressFamily,
    private readonly triggerTime: number | undefined,
  ) {}

  async run(pods: readonly Pod[], existing: readonly EndpointSlice[]): Promise<void> {
    const { service, family } = this;
    const { maxEndpoints, metrics, names } = this.slices.shared;
    const labels = this.labels();
    const reserved = [names.serviceName, names.managedBy, names.headless];
    const own = withoutLabels(service.metadata.labels, reserved);
    const isOwned = ({ metadata }: EndpointSlice) =>
      metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) ?? false;
    const deleted = existing.filter((slice) => !isOwned(slice));
    const byPorts = new Map<string, EndpointSlice[]>();
    for (const slice of existing.filter(isOwned)) {
      const key = portsKey(slice.ports);
      byPorts.set(key, [...(byPorts.get(key) ?? []), slice]);
    }
    const create: PlannedSlice[] = [];
    const update: PlannedSlice[] = [];
    const total = { added: 0, removed: 0 };
    for (const [key, { ports, endpoints }] of this.portGroups(pods)) {
      const plan = packEndpoints(byPorts.get(key) ?? [], endpoints, {
        addressType: family,
        ports,
        labels,
        maxEndpoints,
        hasOtherLabels: ({ metadata }) =>
          !hasSameEntries(withoutLabels(metadata.labels, reserved), own),
      });
      create.push(...plan.create);
      update.push(...plan.update);
      deleted.push(...plan.delete);
      total.added += plan.added;
      total.removed += plan.removed;
      this.figures.endpoints += endpoints.size;
      this.figures.minSlices += Math.ceil(endpoints.size / maxEndpoints);
      byPorts.delete(key);
    }
    for (const slices of byPorts.values()) deleted.push(...slices);
    this.keepPlaceholder(existing, { create, deleted }, labels);
    metrics.packed(total.added, total.removed);
    this.figures.slices = existing.length + create.length - deleted.length;
    this.figures.minSlices ||= 1;
    const events = this.addHints(existing, { create, update, deleted });
    await this.write({ create, update, deleted });
    for (const event of events) this.slices.shared.record(service, event);
  }

  /** Labels of slices: those of the Service and the reserved ones. */
  private labels(): Readonly<Record<string, string>> {
    const { service } = this;
    const { manager, names } = this.slices.shared;
    const reserved = [names.serviceName, names.managedBy, names.headless];
    return {
      ...withoutLabels(service.metadata.labels, reserved),
      ...(isHeadless(service) ? { [names.headless]: "" } : {}),
      [names.serviceName]: service.metadata.name,
      [names.managedBy]: manager,
    };
  }

  private portGroups(pods: readonly Pod[]): ReadonlyMap<string, PortGroup> {
    const groups = new Map<string, PortGroup>();
    for (const pod of pods) {
      if (!isEndpoint(pod, true)) continue;
      const ports = inPortOrder(endpointPorts(this.service, pod));
      const key = portsKey(ports);
      const group = groups.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() };
      groups.set(key, group);
      const endpoint = this.endpointOf(pod);
      if (endpoint !== undefined) group.endpoints.set(endpointKey(endpoint), endpoint);
    }
    return groups;
  }

  /** The pod as an endpoint; undefined if its node is unknown or it has no address of the family. */
  private endpointOf(pod: Pod): Endpoint | undefined {
    const { service, family } = this;
    const { nodes, names } = this.slices.shared;
    const { namespace = "", name, uid, deletionTimestamp } = pod.metadata;
    const { nodeName = "" } = pod.spec ?? {};
    const node = nodes.get(nodeName);
    const publishes = service.spec?.publishNotReadyAddresses === true;
    if (node === undefined && !publishes) {
      const what = `skipping Pod ${name} for Service ${objectKey(service)}`;
      this.skipped.push(new Error(`${what}: Node ${nodeName} Not Found`));
      return undefined;
    }
    const addresses = addressesOf(pod, family);
    if (addresses.length === 0) return undefined;
    const serving = isReady(pod);
    const terminating = deletionTimestamp !== undefined;
    const zone = node?.metadata.labels?.[names.zone] ?? "";
    const hostname = endpointHostname(pod, service);
    return {
      addresses,
      conditions: { ready: publishes || (serving && !terminating), serving, terminating },
      targetRef: { kind: "Pod", namespace, name, uid },
      ...(nodeName === "" ? {} : { nodeName }),
      ...(zone === "" ? {} : { zone }),
      ...(hostname === undefined ? {} : { hostname }),
    };
  }

  /** Keeps or creates the placeholder slice (no endpoints, no ports) of a Service without endpoints. */
  private keepPlaceholder(
    existing: readonly EndpointSlice[],
    { create, deleted }: { readonly create: PlannedSlice[]; readonly deleted: EndpointSlice[] },
    labels: Readonly<Record<string, string>>,
  ): void {
    if (existing.length !== deleted.length || create.length > 0) return;
    const [only] = deleted;
    const isPlaceholder =
      deleted.length === 1 &&
      only !== undefined &&
      only.endpoints.length === 0 &&
      (only.ports ?? []).length === 0 &&
      only.metadata.ownerReferences?.[0]?.uid === this.service.metadata.uid &&
      hasSameEntries(only.metadata.labels ?? {}, labels);
    if (isPlaceholder) deleted.pop();
    else create.push({ addressType: this.family, ports: [], labels, endpoints: [] });
  }

  private addHints(
    existing: readonly EndpointSlice[],
    changes: {
      readonly create: readonly PlannedSlice[];
      readonly update: PlannedSlice[];
      readonly deleted: readonly EndpointSlice[];
    },
  ): readonly HintsEvent[] {
    const { service, family } = this;
    const { hints } = this.slices.shared;
    const { create, update, deleted } = changes;
    const touched = new Set([...deleted, ...update.map(({ stored }) => stored)]);
    const unchanged = existing.filter((slice) => !touched.has(slice));
    const labels = this.labels();
    const plan = (stored: EndpointSlice): PlannedSlice => {
      const { ports = [], endpoints } = stored;
      return { stored, addressType: family, ports, labels, endpoints: [...endpoints] };
    };
    const serviceKey = objectKey(service);
    const planned = [...create, ...update];
    const input = { serviceKey, addressType: family, planned, unchanged, plan };
    if (this.slices.hasTopologyHints(service)) {
      const { changed, events } = hints.add(input);
      update.push(...changed);
      return events;
    }
    const hadHints = hints.remove(serviceKey, family);
    const distribution = this.slices.distributionOf(service);
    if (distribution === undefined) update.push(...removeHints(input));
    else {
      const others = addDistributionHints(planned, unchanged, distribution).map(plan);
      addDistributionHints(others, [], distribution);
      update.push(...others);
    }
    if (!hadHints) return [];
    return [disabledEvent("Topology Aware Hints has been disabled", family)];
  }

  private async write(changes: {
    readonly create: readonly PlannedSlice[];
    readonly update: readonly PlannedSlice[];
    readonly deleted: readonly EndpointSlice[];
  }): Promise<void> {
    const { service, triggerTime } = this;
    const { metrics, names, writer } = this.slices.shared;
    const { create, update, deleted } = changes;
    const annotationsOf = (stored: Readonly<Record<string, string>>) => {
      const { [names.triggerTime]: _time, ...rest } = stored;
      if (triggerTime === undefined) return rest;
      return { ...rest, [names.triggerTime]: formatTriggerTime(triggerTime) };
    };
    const owner = { object: service, resource: serviceResource };
    await writer.write(owner, { create, update, delete: deleted }, annotationsOf);
    const distribution = this.slices.distributionOf(service);
    const count = create.length + update.length + deleted.length;
    metrics.changed(count, this.slices.hasTopologyHints(service), distribution);
  }
}

function addressFamilies({ spec }: Service): readonly AddressFamily[] {
  const { ipFamilies = [], clusterIP = "" } = spec ?? {};
  if (ipFamilies.length > 0) return [...new Set(ipFamilies)];
  // Services created before dual-stack support.
  if (clusterIP !== "" && clusterIP !== "None") return [ipFamily(clusterIP)];
  return ["IPv4", "IPv6"];
}

function addressesOf({ status }: Pod, family: AddressFamily): readonly string[] {
  const own = (status?.podIPs ?? []).filter(({ ip }) => ipFamily(ip) === family);
  return own.flatMap(({ ip }) => {
    const parsed = parseIp(ip);
    return parsed === undefined ? [] : [formatIp(parsed)];
  });
}

function endpointPorts(service: Service, pod: Pod): readonly EndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((servicePort) => {
    const port = targetPortOf(pod, servicePort);
    const { name = "", protocol = "TCP", appProtocol } = servicePort;
    if (port === undefined) return [];
    return [{ name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}
