/** Defaulting and preparation of Services before validation. */
import { Problems } from "#schema";
import { deepEqual } from "#base";
import { type HookContext, invalid } from "#meta";
import { syncClusterIPs, defaultFamilies } from "./service-families.ts";
import {
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheckNodePort,
  needsNodePort,
  type Service,
} from "./service-types.ts";

type Spec = Service["spec"];

/** Default timeout of session affinity in seconds. */
const defaultAffinitySeconds = 10_800;

export function fillDefaults(service: Service): void {
  const { spec, status } = service;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  else if (
    spec.sessionAffinity === "ClientIP" &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  ) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: defaultAffinitySeconds } };
  }
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) port.targetPort ||= port.port;
  if (isExternallyAccessible(service)) spec.externalTrafficPolicy ||= "Cluster";
  if (needsClusterIp(service)) spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type !== "LoadBalancer") return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of status.loadBalancer.ingress ?? []) {
    if (ingress.ip) ingress.ipMode ??= "VIP";
  }
}

/**
 * Defaults IP families.
 * @throws StatusError 422 for contradictory IPs and families, before any other validation
 */
function defaultIPFamilies(service: Service, old: Service | undefined, context: HookContext): void {
  const problems = new Problems();
  const configured = context.ipFamilies ?? ["IPv4"];
  defaultFamilies(service, { old, configured, problems });
  if (problems.empty) return;
  const group = "";
  throw invalid({ group, kind: "Service" }, service.metadata.name ?? "", problems);
}

export function prepareCreate(service: Service, context: HookContext): void {
  syncClusterIPs(service, undefined);
  defaultIPFamilies(service, undefined, context);
  service.status = { loadBalancer: {} };
  dropInternalPolicy(service);
}

export function prepareUpdate(service: Service, old: Service, context: HookContext): void {
  if (context.subresource === "status") {
    service.spec = old.spec;
    return;
  }
  service.status = old.status;
  keepAllocated(service, old);
  syncClusterIPs(service, old);
  defaultIPFamilies(service, old, context);
  dropWithType(service, old);
  dropInternalPolicy(service);
}

/** Removes internalTrafficPolicy from Services of type ExternalName. */
function dropInternalPolicy({ spec }: Service): void {
  if (spec.type === "ExternalName") delete spec.internalTrafficPolicy;
}

/** Preserves allocated values in updates of clients that omit them. */
function keepAllocated(service: Service, old: Service): void {
  const { spec } = service;
  if (needsClusterIp(service) && needsClusterIp(old)) {
    if (!spec.clusterIP && old.spec.clusterIP) spec.clusterIP = old.spec.clusterIP;
    if (!spec.clusterIPs?.length && old.spec.clusterIPs) {
      spec.clusterIPs = [...old.spec.clusterIPs];
    }
  }
  if (needsNodePort(service) && needsNodePort(old)) keepNodePorts(spec, old.spec);
  if (needsHealthCheckNodePort(service) && needsHealthCheckNodePort(old)) {
    if (!spec.healthCheckNodePort && old.spec.healthCheckNodePort) {
      spec.healthCheckNodePort = old.spec.healthCheckNodePort;
    }
  }
}

/**
 * Preserves node ports by port name, unless another port of the new Service requests the number.
 */
function keepNodePorts({ ports = [] }: Spec, { ports: before = [] }: Spec): void {
  const numbers = new Set(before.map(({ nodePort }) => nodePort ?? 0));
  const used = new Set(ports.map(({ nodePort }) => nodePort ?? 0).filter((n) => numbers.has(n)));
  const byName = new Map(before.map(({ name = "", nodePort = 0 }) => [name, nodePort]));
  for (const port of ports) {
    const number = byName.get(port.name ?? "") ?? 0;
    if (port.nodePort || number === 0 || used.has(number)) continue;
    port.nodePort = number;
    used.add(number);
  }
}

/** Clears fields that the new type does not support, unless the client changed them. */
function dropWithType(service: Service, old: Service): void {
  const { spec } = service;
  const isSame = (field: keyof Spec) => deepEqual(spec[field] ?? null, old.spec[field] ?? null);
  const drop = (field: Droppable) => {
    if (isSame(field)) delete spec[field];
  };
  // An unknown type keeps its addresses: validation rejects it.
  if (old.spec.type !== "ExternalName" && spec.type === "ExternalName") {
    if (isSame("clusterIP") && isSame("clusterIPs")) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    drop("ipFamilies");
    drop("ipFamilyPolicy");
  }
  if (needsNodePort(old) && !needsNodePort(service) && sameNodePorts(spec, old.spec)) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheckNodePort(old) && !needsHealthCheckNodePort(service)) {
    drop("healthCheckNodePort");
  }
  if (old.spec.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(service)) {
    drop("externalTrafficPolicy");
  }
  if (spec.type !== "LoadBalancer") service.status.loadBalancer = {};
}

type Droppable =
  | "allocateLoadBalancerNodePorts"
  | "externalTrafficPolicy"
  | "healthCheckNodePort"
  | "ipFamilies"
  | "ipFamilyPolicy"
  | "loadBalancerClass";

function sameNodePorts({ ports = [] }: Spec, { ports: before = [] }: Spec): boolean {
  const numbers = (all: typeof ports) => new Set(all.map(({ nodePort }) => nodePort ?? 0));
  const [now, was] = [numbers(ports), numbers(before)];
  return now.size === was.size && [...now].every((number) => was.has(number));
}
