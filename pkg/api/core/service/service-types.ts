/** The shape of a Service. */
import {
  required,
  bool,
  type Infer,
  int32,
  list,
  map,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { condition, intOrString, objectMeta } from "#meta";

const v1 = structs("api/core/v1");

const protocol = named("v1.Protocol", "TCP", "UDP", "SCTP");

export const servicePort = v1("ServicePort", "A port that the service offers.", {
  name: value(1, string, "Name of the port; may be empty if there is but one."),
  protocol: value(2, protocol, "TCP, UDP or SCTP; TCP unless set.", { default: "TCP" }),
  appProtocol: pointer(6, string, "Protocol on top, as in `http` or `example.com/own`."),
  port: required(3, int32, "Number under which clients reach it."),
  targetPort: value(4, intOrString, "Port of the pods, by number or name; `port` unless set."),
  nodePort: value(5, int32, "Port on every node, for NodePort and LoadBalancer; allocated."),
});

const clientIPConfig = v1("ClientIPConfig", "How clients are recognised by their address.", {
  timeoutSeconds: pointer(1, int32, "Seconds that a client sticks to its pod, at most a day."),
});

const sessionAffinityConfig = v1("SessionAffinityConfig", "Details of session affinity.", {
  clientIP: pointer(1, clientIPConfig, "For the affinity ClientIP."),
});

const serviceSpec = v1("ServiceSpec", "How the service is reached, and what is behind it.", {
  ports: value(1, list(servicePort), "The ports that the service offers.", {
    listType: "map",
    listMapKeys: ["port", "protocol"],
    patchStrategy: ["merge"],
    patchMergeKey: "port",
  }),
  selector: value(
    2,
    map(string),
    "Labels of the pods behind the service; empty means that somebody else keeps its endpoints.",
    { mapType: "atomic" },
  ),
  clusterIP: value(
    3,
    string,
    "Address within the cluster, allocated unless given; None makes a headless service; fixed.",
  ),
  clusterIPs: value(18, list(string), "All such addresses, at most one of each family.", {
    listType: "atomic",
  }),
  type: value(
    4,
    named("v1.ServiceType", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    "Who can reach it: ClusterIP (the default), NodePort, LoadBalancer; or ExternalName, an alias.",
  ),
  externalIPs: value(5, list(string), "Addresses of nodes, routed there by somebody else.", {
    listType: "atomic",
  }),
  sessionAffinity: value(
    7,
    named("v1.ServiceAffinity", "ClientIP", "None"),
    "Whether a client always gets the same pod: ClientIP, or None, which is the default.",
  ),
  loadBalancerIP: value(8, string, "Address wished for; deprecated, since few providers heed it."),
  loadBalancerSourceRanges: value(9, list(string), "Networks that may use the load balancer.", {
    listType: "atomic",
  }),
  externalName: value(10, string, "DNS name that an ExternalName service stands for."),
  externalTrafficPolicy: value(
    11,
    named("v1.ServiceExternalTrafficPolicy", "Cluster", "Local"),
    "Where traffic from outside may go: Cluster (all pods) or Local (pods of the same node).",
  ),
  healthCheckNodePort: value(
    12,
    int32,
    "Port on which load balancers ask a node for local pods; allocated for Local, then fixed.",
  ),
  publishNotReadyAddresses: value(13, bool, "Whether pods that are not ready count as ready."),
  sessionAffinityConfig: pointer(14, sessionAffinityConfig, "Details of session affinity."),
  ipFamilies: value(
    19,
    list(named("v1.IPFamily", "IPv4", "IPv6")),
    "Families of the addresses, the first of which is fixed: IPv4, IPv6.",
    { listType: "atomic" },
  ),
  ipFamilyPolicy: pointer(
    17,
    named("v1.IPFamilyPolicy", "SingleStack", "PreferDualStack", "RequireDualStack"),
    "How many families: SingleStack, PreferDualStack or RequireDualStack.",
  ),
  allocateLoadBalancerNodePorts: pointer(
    20,
    bool,
    "Whether a LoadBalancer gets node ports, too; true unless set.",
  ),
  loadBalancerClass: pointer(
    21,
    string,
    "Who provides the load balancer, as in `example.com/internal`; fixed.",
  ),
  internalTrafficPolicy: pointer(
    22,
    named("v1.ServiceInternalTrafficPolicy", "Cluster", "Local"),
    "Where traffic from within may go: Cluster (all pods) or Local (pods of the same node).",
  ),
  trafficDistribution: pointer(
    23,
    string,
    "Which pods are preferred: PreferClose, PreferSameZone or PreferSameNode.",
    { gate: "ServiceTrafficDistribution" },
  ),
});

const portStatus = v1("PortStatus", "What became of a port of a load balancer.", {
  port: required(1, int32, "Number of the port."),
  protocol: required(2, protocol, "Its protocol."),
  error: pointer(3, string, "What went wrong, as one word in camel case; may have a domain."),
});

const loadBalancerIngress = v1("LoadBalancerIngress", "A way into a load balancer.", {
  ip: value(1, string, "Its address."),
  hostname: value(2, string, "Its name."),
  ipMode: pointer(
    3,
    named("v1.LoadBalancerIPMode", "VIP", "Proxy"),
    "Whether packets arrive addressed to it (VIP) or to a node (Proxy).",
  ),
  ports: value(4, list(portStatus), "What became of its ports.", { listType: "atomic" }),
});

const loadBalancerStatus = v1("LoadBalancerStatus", "State of a load balancer.", {
  ingress: value(1, list(loadBalancerIngress), "The ways in.", { listType: "atomic" }),
});

const serviceStatus = v1("ServiceStatus", "State of a service.", {
  loadBalancer: value(1, loadBalancerStatus, "State of its load balancer."),
  conditions: value(2, list(condition), "What is known of the service.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
});

export const serviceV1 = v1("Service", "A name and address for a set of pods.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, serviceSpec, "How the service is reached, and what is behind it."),
  status: value(3, serviceStatus, "State of the service."),
});

export type Service = Infer<typeof serviceV1>;
export type ServicePort = Infer<typeof servicePort>;
export type LoadBalancerStatus = Infer<typeof loadBalancerStatus>;

/** In place of an address: the pods are to be found by DNS alone. */
export const NO_ADDRESS = "None";

export function isHeadless({ spec }: Service): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === NO_ADDRESS;
}

/** ExternalName is the one type that has no address. */
export function needsClusterIp({ spec }: Service): boolean {
  return spec.type === "ClusterIP" || spec.type === "NodePort" || spec.type === "LoadBalancer";
}

export function needsNodePort({ spec }: Service): boolean {
  if (spec.type === "NodePort") return true;
  return spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false;
}

export function needsHealthCheckNodePort({ spec }: Service): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}

/** Whether traffic may come from outside the cluster. */
export function isExternallyAccessible({ spec }: Service): boolean {
  if (spec.type === "LoadBalancer" || spec.type === "NodePort") return true;
  return spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0;
}
