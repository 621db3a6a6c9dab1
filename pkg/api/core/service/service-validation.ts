import { Path, type Problems } from "#schema";
import {
  checkLabels,
  type HookContext,
  isDns1123Label,
  isDns1123Subdomain,
  isPortName,
  isPortNumber,
  isQualifiedName,
  kubernetes,
} from "#meta";
import { parseIp, parseCidr } from "#base";
import { notANetworkMessage, notAnAddressMessage, unreachableReason } from "../../networking/ip.ts";
import { goShape } from "../../go/go-shape.ts";
import { entry, invalidEach, duplicateIndexes, unsupported } from "../../strategy.ts";
import { checkAddresses, checkChange } from "./service-families.ts";
import {
  isExternallyAccessible,
  isHeadless,
  type LoadBalancerStatus,
  needsHealthCheckNodePort,
  type Service,
  type ServicePort,
  servicePort,
} from "./service-types.ts";

const spec = Path.of("spec");
const portsPath = spec.child("ports");

const kubeletPort = 10_250;
const maxAffinitySeconds = 86_400;
const protocols = ["SCTP", "TCP", "UDP"];
const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const trafficPolicies = ["Cluster", "Local"];
const addressModes = ["Proxy", "VIP"];
const onlyLoadBalancersMessage = "may only be used when `type` is 'LoadBalancer'";

const topologyAnnotations = {
  mode: `service.${kubernetes.label}/topology-mode`,
  hints: `service.${kubernetes.label}/topology-aware-hints`,
};
const rangesAnnotation = `service.beta.${kubernetes.label}/load-balancer-source-ranges`;

/** Validates a Service. CIDRs and addresses that `old` has are not validated again. */
export function validateService(
  service: Service,
  old: Service | undefined,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  checkTopology(service, problems);
  checkType(service, problems);
  checkPorts(service, problems);
  if (service.spec.selector) checkLabels(service.spec.selector, spec.child("selector"), problems);
  checkAffinity(service, problems);
  checkAddresses(service, old, problems);
  checkExternalAddresses(service, old?.spec.externalIPs ?? [], problems);
  checkTypeName(service, problems);
  checkRepeatedPorts(service, problems);
  checkSourceRanges(service, old?.spec.loadBalancerSourceRanges ?? [], problems);
  checkNodePortSwitch(service, problems);
  checkClass(service, undefined, problems);
  checkTraffic(service, problems);
  checkDistribution(service, context, problems);
}

export function validateServiceUpdate(
  service: Service,
  old: Service,
  by: { readonly problems: Problems; readonly context: HookContext },
): void {
  checkChange(service, old, by.problems);
  checkClass(service, old, by.problems);
  const [before, now] = [old.spec.healthCheckNodePort ?? 0, service.spec.healthCheckNodePort ?? 0];
  if (needsHealthCheckNodePort(old) && needsHealthCheckNodePort(service) && before !== now) {
    by.problems.forbidden(spec.child("healthCheckNodePort"), "field is immutable");
  }
  validateService(service, old, by);
}

function checkTopology({ metadata }: Service, problems: Problems): void {
  const mode = entry(metadata.annotations, topologyAnnotations.mode);
  const hints = entry(metadata.annotations, topologyAnnotations.hints);
  if (mode === undefined || hints === undefined || mode === hints) return;
  const path = Path.of("metadata.annotations").key(topologyAnnotations.mode);
  const detail = `must match annotations[${topologyAnnotations.hints}] when both are specified`;
  problems.invalid(path, mode, detail);
}

function checkType(service: Service, problems: Problems): void {
  const { type, ports = [], clusterIPs = [] } = service.spec;
  if (ports.length === 0 && !isHeadless(service) && type !== "ExternalName") {
    problems.required(portsPath);
  }
  if (type === "LoadBalancer") {
    for (const [index, { port }] of ports.entries()) {
      if (port !== kubeletPort) continue;
      const detail = `may not expose port ${port} externally since it is used by kubelet`;
      problems.invalid(portsPath.index(index), port, detail);
    }
  }
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(service)) {
    const detail = `may not be set to 'None' for ${type} services`;
    problems.invalid(spec.child("clusterIPs").index(0), clusterIPs[0], detail);
  }
  if (type === "ExternalName") checkExternalName(service, problems);
}

function checkExternalName(service: Service, problems: Problems): void {
  const { clusterIPs = [], ipFamilies = [], ipFamilyPolicy, externalName = "" } = service.spec;
  const forbid = (field: string) =>
    problems.forbidden(spec.child(field), "may not be set for ExternalName services");
  if (clusterIPs.length > 0) forbid("clusterIPs");
  if (ipFamilies.length > 0) forbid("ipFamilies");
  if (ipFamilyPolicy !== undefined) forbid("ipFamilyPolicy");
  const path = spec.child("externalName");
  const name = externalName.endsWith(".") ? externalName.slice(0, -1) : externalName;
  if (name === "") problems.required(path);
  else invalidEach(problems, path, { value: name, messages: isDns1123Subdomain(name) });
}

function checkPorts({ spec: { ports = [] } }: Service, problems: Problems): void {
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = portsPath.index(index);
    const { name = "" } = port;
    if (name !== "") {
      const messages = isDns1123Label(name);
      invalidEach(problems, path.child("name"), { value: name, messages });
      if (seen.has(name)) problems.duplicate(path.child("name"), name);
      seen.add(name);
    } else if (ports.length > 1) problems.required(path.child("name"));
    checkPort(port, path, problems);
  }
}

function checkPort(each: ServicePort, path: Path, problems: Problems): void {
  const { port, protocol = "", targetPort = 0, appProtocol } = each;
  invalidEach(problems, path.child("port"), { value: port, messages: isPortNumber(port) });
  if (protocol === "") problems.required(path.child("protocol"));
  else if (!protocols.includes(protocol)) {
    problems.notSupported(path.child("protocol"), protocol, protocols);
  }
  const messages =
    typeof targetPort === "number" ? isPortNumber(targetPort) : isPortName(targetPort);
  invalidEach(problems, path.child("targetPort"), { value: targetPort, messages });
  if (appProtocol === undefined) return;
  invalidEach(problems, path.child("appProtocol"), {
    value: appProtocol,
    messages: isQualifiedName(appProtocol),
  });
}

function checkAffinity({ spec: service }: Service, problems: Problems): void {
  const { sessionAffinity = "", sessionAffinityConfig: config } = service;
  const path = spec.child("sessionAffinity");
  if (sessionAffinity === "") problems.required(path);
  else if (!affinities.includes(sessionAffinity)) {
    problems.notSupported(path, sessionAffinity, affinities);
  }
  const configPath = spec.child("sessionAffinityConfig");
  if (sessionAffinity === "None" && config !== undefined) {
    problems.forbidden(configPath, "must not be set when session affinity is None");
  }
  if (sessionAffinity !== "ClientIP") return;
  const forIt = "when session affinity type is ClientIP";
  if (config === undefined) return problems.required(configPath, forIt);
  const { clientIP } = config;
  const clientPath = configPath.child("clientIP");
  if (clientIP === undefined) return problems.required(clientPath, forIt);
  const secondsPath = clientPath.child("timeoutSeconds");
  const { timeoutSeconds } = clientIP;
  if (timeoutSeconds === undefined) return problems.required(secondsPath, forIt);
  if (timeoutSeconds > 0 && timeoutSeconds <= maxAffinitySeconds) return;
  const detail = `must be greater than 0 and less than ${maxAffinitySeconds}`;
  problems.invalid(secondsPath, timeoutSeconds, detail);
}

function checkExternalAddresses(
  { spec: { externalIPs = [] } }: Service,
  known: readonly string[],
  problems: Problems,
): void {
  for (const [index, ip] of externalIPs.entries()) {
    const path = spec.child("externalIPs").index(index);
    const address = parseIp(ip);
    if (address === undefined) {
      if (!known.includes(ip)) problems.invalid(path, ip, notAnAddressMessage);
      continue;
    }
    const reason = unreachableReason(address, ip);
    if (reason !== undefined) problems.invalid(path, ip, reason);
  }
}

function checkTypeName({ spec: { type = "", ports = [] } }: Service, problems: Problems): void {
  if (type === "") problems.required(spec.child("type"));
  else if (!types.includes(type)) problems.notSupported(spec.child("type"), type, types);
  if (type !== "ClusterIP") return;
  for (const [index, { nodePort }] of ports.entries()) {
    if (!nodePort) continue;
    const path = portsPath.index(index).child("nodePort");
    problems.forbidden(path, "may not be used when `type` is 'ClusterIP'");
  }
}

/** Requires unique combinations of protocol with node port and with port. */
function checkRepeatedPorts({ spec: { ports = [] } }: Service, problems: Problems): void {
  const repeatedOnNodes = duplicateIndexes(
    ports,
    ({ protocol, nodePort }) => `${protocol}/${nodePort}`,
  );
  for (const [index, { nodePort }] of ports.entries()) {
    if (!nodePort || !repeatedOnNodes.has(index)) continue;
    problems.duplicate(portsPath.index(index).child("nodePort"), nodePort);
  }
  const repeated = duplicateIndexes(ports, ({ protocol, port }) => `${protocol}/${port}`);
  for (const [index, { protocol = "", port }] of ports.entries()) {
    if (!repeated.has(index)) continue;
    const goPort = goShape(servicePort, { protocol, port, targetPort: 0 });
    problems.duplicate(portsPath.index(index), goPort);
  }
}

/** Validates loadBalancerSourceRanges from the field or the deprecated annotation. */
function checkSourceRanges(
  { metadata, spec: { type, loadBalancerSourceRanges: ranges = [] } }: Service,
  known: readonly string[],
  problems: Problems,
): void {
  const check = (text: string, path: Path) => {
    if (parseCidr(text) !== undefined || known.includes(text)) return;
    problems.invalid(path, text, notANetworkMessage);
  };
  if (ranges.length > 0) {
    const path = spec.child("LoadBalancerSourceRanges");
    if (type !== "LoadBalancer") problems.forbidden(path, onlyLoadBalancersMessage);
    for (const [index, text] of ranges.entries()) check(text.trim(), path.index(index));
    return;
  }
  const annotation = entry(metadata.annotations, rangesAnnotation);
  if (annotation === undefined) return;
  const path = Path.of("metadata.annotations").key(rangesAnnotation);
  if (type !== "LoadBalancer") problems.forbidden(path, onlyLoadBalancersMessage);
  if (annotation.trim() === "") return;
  for (const text of annotation.split(",")) check(text.trim(), path);
}

function checkNodePortSwitch({ spec: service }: Service, problems: Problems): void {
  const path = spec.child("allocateLoadBalancerNodePorts");
  const { type, allocateLoadBalancerNodePorts: allocates } = service;
  if (type !== "LoadBalancer") {
    if (allocates !== undefined) problems.forbidden(path, onlyLoadBalancersMessage);
  } else if (allocates === undefined) problems.required(path);
}

function checkClass(service: Service, old: Service | undefined, problems: Problems): void {
  const path = spec.child("loadBalancerClass");
  const { type, loadBalancerClass } = service.spec;
  if (type !== "LoadBalancer") {
    if (loadBalancerClass !== undefined) problems.forbidden(path, onlyLoadBalancersMessage);
    return;
  }
  if (old?.spec.type === type && old.spec.loadBalancerClass !== loadBalancerClass) {
    problems.invalid(path, loadBalancerClass ?? null, "may not change once set");
  }
  if (loadBalancerClass === undefined) return;
  const messages = isQualifiedName(loadBalancerClass);
  invalidEach(problems, path, { value: loadBalancerClass, messages });
}

function checkTraffic(service: Service, problems: Problems): void {
  const { externalTrafficPolicy: external = "", internalTrafficPolicy: internal } = service.spec;
  const path = spec.child("externalTrafficPolicy");
  if (!isExternallyAccessible(service)) {
    const detail = "may only be set for externally-accessible services";
    if (external !== "") problems.invalid(path, external, detail);
  } else if (external === "") problems.required(path);
  else if (!trafficPolicies.includes(external)) {
    problems.notSupported(path, external, trafficPolicies);
  }
  checkHealthPort(service, problems);
  const internalPath = spec.child("internalTrafficPolicy");
  if (internal === undefined) {
    if (service.spec.type !== "ExternalName" && types.includes(service.spec.type ?? "")) {
      problems.required(internalPath);
    }
  } else if (!trafficPolicies.includes(internal)) {
    problems.notSupported(internalPath, internal, trafficPolicies);
  }
}

/** Validates healthCheckNodePort; its allocation ensures that a required port is set. */
function checkHealthPort(service: Service, problems: Problems): void {
  const { healthCheckNodePort: port = 0 } = service.spec;
  if (port === 0) return;
  const path = spec.child("healthCheckNodePort");
  if (needsHealthCheckNodePort(service)) {
    return invalidEach(problems, path, { value: port, messages: isPortNumber(port) });
  }
  const detail =
    "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
  problems.invalid(path, port, detail);
}

function checkDistribution(
  { spec: { trafficDistribution: value } }: Service,
  context: HookContext,
  problems: Problems,
): void {
  if (value === undefined) return;
  const supported = context.gate("PreferSameTrafficDistribution")
    ? ["PreferClose", "PreferSameZone", "PreferSameNode"]
    : ["PreferClose"];
  if (supported.includes(value)) return;
  unsupported(problems, spec.child("trafficDistribution"), { value, supported, isQuoted: true });
}

/** Validates status.loadBalancer, which only type LoadBalancer may set. */
export function validateLoadBalancerStatus(
  { status, spec: { type } }: Service,
  old: LoadBalancerStatus,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  const path = Path.of("status.loadBalancer.ingress");
  const ingress = status.loadBalancer.ingress ?? [];
  if (type !== "LoadBalancer" && ingress.length > 0) {
    if (context.gate("AllowServiceLBStatusOnNonLB")) return;
    return problems.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
  }
  const known = new Set((old.ingress ?? []).map(({ ip }) => ip));
  for (const [index, { ip = "", ipMode, hostname = "" }] of ingress.entries()) {
    const itemPath = path.index(index);
    if (ip !== "" && parseIp(ip) === undefined && !known.has(ip)) {
      problems.invalid(itemPath.child("ip"), ip, notAnAddressMessage);
    }
    checkMode(ip, ipMode, { path: itemPath.child("ipMode"), problems });
    if (hostname === "") continue;
    const messages = isDns1123Subdomain(hostname);
    invalidEach(problems, itemPath.child("hostname"), { value: hostname, messages });
    if (parseIp(hostname) === undefined) continue;
    const detail = "must be a DNS name, not an IP address";
    problems.invalid(itemPath.child("hostname"), hostname, detail);
  }
}

function checkMode(
  ip: string,
  mode: string | undefined,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (mode === undefined) {
    if (ip !== "") problems.required(path, "must be specified when `ip` is set");
  } else if (ip === "") problems.forbidden(path, "may not be specified when `ip` is not set");
  else if (!addressModes.includes(mode)) problems.notSupported(path, mode, addressModes);
}
