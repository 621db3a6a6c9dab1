/** Structs of Service. */
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
  mergedBy,
} from "#schema";
import { condition, intOrString, objectMeta } from "#meta";

const v1 = structs("api/core/v1");

const protocol = named("v1.Protocol", "TCP", "UDP", "SCTP");

export const servicePort = v1("ServicePort", "Port exposed by a Service.", {
  name: value(
    1,
    string,
    "Name of the port: a DNS label, unique within the Service. Required if there is more than " +
      "one. EndpointSlices refer to it.",
  ),
  protocol: value(2, protocol, "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.", {
    default: "TCP",
    openApi: { default: true },
  }),
  appProtocol: pointer(
    6,
    string,
    "Application protocol hint: an IANA service name such as `http`, a prefixed name that " +
      "Kubernetes defines (h2c, ws, wss), or another domain-prefixed name such as " +
      "`example.com/my-protocol`.",
  ),
  port: required(3, int32, "Port number on the virtual IP address of the Service, 1 to 65535."),
  targetPort: value(
    4,
    intOrString,
    "Number or name of the port on the pods. A name can resolve to different numbers on " +
      "different pods. Ignored for headless Services. Defaults to port.",
  ),
  nodePort: value(
    5,
    int32,
    "Port on each node for types NodePort and LoadBalancer. Allocated from the node port range " +
      "if not specified; rejected if already in use.",
  ),
});

const clientIPConfig = v1(
  "ClientIPConfig",
  "Configuration of session affinity by client IP address.",
  {
    timeoutSeconds: pointer(
      1,
      int32,
      "Seconds for which session affinity lasts, 1 to 86400. Defaults to 10800 (3 hours).",
    ),
  },
);

const sessionAffinityConfig = v1(
  "SessionAffinityConfig",
  "Configuration of session affinity, by its type.",
  {
    clientIP: pointer(1, clientIPConfig, "Configuration of sessionAffinity ClientIP."),
  },
);

const serviceSpec = v1("ServiceSpec", "Desired state of a Service.", {
  ports: value(
    1,
    list(servicePort),
    "Ports exposed by the Service. Required, except for headless and ExternalName Services.",
    {
      listType: "map",
      listMapKeys: ["port", "protocol"],
      patchStrategy: ["merge"],
      patchMergeKey: "port",
    },
  ),
  selector: value(
    2,
    map(string),
    "Labels of the pods to route traffic to. If empty, endpoints are managed externally. " +
      "Ignored for type ExternalName.",
    { mapType: "atomic" },
  ),
  clusterIP: value(
    3,
    string,
    "Virtual IP address of the Service, allocated if not specified. None makes the Service " +
      "headless. Must be empty for ExternalName. Immutable, except when type changes to or " +
      "from ExternalName.",
  ),
  clusterIPs: value(
    18,
    list(string),
    "Cluster IP addresses, at most one per IP family. The first equals clusterIP and is " +
      "immutable; the second can be added or removed by a change of ipFamilyPolicy.",
    {
      listType: "atomic",
    },
  ),
  type: value(
    4,
    named("v1.ServiceType", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    "How the Service is exposed. One of ClusterIP (virtual IP address within the cluster), " +
      "NodePort (also on a port of every node), LoadBalancer (also through an external load " +
      "balancer), ExternalName (DNS alias of externalName). Defaults to ClusterIP.",
  ),
  externalIPs: value(
    5,
    list(string),
    "IP addresses for which nodes also accept traffic for this Service. They are not managed " +
      "by Kubernetes: routing them to nodes is up to the user.",
    {
      listType: "atomic",
    },
  ),
  sessionAffinity: value(
    7,
    named("v1.ServiceAffinity", "ClientIP", "None"),
    "Session affinity: one of ClientIP (connections from a client IP address go to the same " +
      "pod), None. Defaults to None.",
  ),
  loadBalancerIP: value(
    8,
    string,
    "Deprecated: requested IP address of the load balancer, if the implementation supports it. " +
      "Use implementation-specific annotations.",
  ),
  loadBalancerSourceRanges: value(
    9,
    list(string),
    "Client IP ranges, in CIDR notation, to which traffic through the load balancer is " +
      "restricted, if the implementation supports it. Only for type LoadBalancer.",
    {
      listType: "atomic",
    },
  ),
  externalName: value(
    10,
    string,
    "External DNS name that cluster DNS returns as a CNAME record for the Service. Required " +
      "for type ExternalName.",
  ),
  externalTrafficPolicy: value(
    11,
    named("v1.ServiceExternalTrafficPolicy", "Cluster", "Local"),
    "Routing of external traffic. One of Cluster (to any endpoint; the source IP address can " +
      "be lost), Local (only to endpoints on the receiving node; preserves the source IP " +
      "address, drops traffic without a local endpoint). Only for NodePort, LoadBalancer and " +
      "externalIPs. Defaults to Cluster.",
  ),
  healthCheckNodePort: value(
    12,
    int32,
    "Port on which each node reports to load balancers whether it has local endpoints. Only " +
      "for type LoadBalancer with externalTrafficPolicy Local. Allocated if not specified. " +
      "Immutable.",
  ),
  publishNotReadyAddresses: value(
    13,
    bool,
    "Whether endpoints are published as ready regardless of the readiness of their pods, for " +
      "example for peer discovery in a StatefulSet. Defaults to false.",
  ),
  sessionAffinityConfig: pointer(
    14,
    sessionAffinityConfig,
    "Configuration of sessionAffinity. Defaulted for ClientIP; must be unset for None.",
  ),
  ipFamilies: value(
    19,
    list(named("v1.IPFamily", "IPv4", "IPv6")),
    "IP families of the Service: IPv4, IPv6. Assigned according to ipFamilyPolicy if not " +
      "specified. The first is immutable, except when type changes to or from ExternalName.",
    { listType: "atomic", openApi: { enum: ["", "IPv4", "IPv6"] } },
  ),
  ipFamilyPolicy: pointer(
    17,
    named("v1.IPFamilyPolicy", "SingleStack", "PreferDualStack", "RequireDualStack"),
    "Dual-stack policy. One of SingleStack (one IP family), PreferDualStack (two if the " +
      "cluster is dual-stack), RequireDualStack (two, otherwise creation fails). Defaults to " +
      "SingleStack.",
  ),
  allocateLoadBalancerNodePorts: pointer(
    20,
    bool,
    "Whether node ports are allocated for type LoadBalancer. Explicitly specified ones are " +
      "honored regardless. Defaults to true.",
  ),
  loadBalancerClass: pointer(
    21,
    string,
    "Class of the load balancer implementation: a label-style identifier such as " +
      "`example.com/internal-vip`. Only for type LoadBalancer. Defaults to the implementation " +
      "of the cloud provider. Immutable.",
  ),
  internalTrafficPolicy: pointer(
    22,
    named("v1.ServiceInternalTrafficPolicy", "Cluster", "Local"),
    "Routing of traffic to the cluster IP. One of Cluster (to any endpoint), Local (only to " +
      "endpoints on the node of the client; drops traffic without one). Defaults to Cluster.",
  ),
  trafficDistribution: pointer(
    23,
    string,
    "Preference, but no guarantee, for the endpoints that traffic is distributed to: " +
      "PreferClose (same zone), PreferSameZone, PreferSameNode. The last two are beta: feature " +
      "gate PreferSameTrafficDistribution.",
    { gate: "ServiceTrafficDistribution" },
  ),
});

const portStatus = v1("PortStatus", "Status of a port of a load balancer.", {
  port: required(1, int32, "Port number of the load balancer."),
  protocol: required(2, protocol, "Transport protocol of the port: one of TCP, UDP, SCTP."),
  error: pointer(
    3,
    string,
    "Problem with the port, as a CamelCase reason, prefixed with a domain if specific to a " +
      "cloud provider. Absent if there is none.",
  ),
});

const loadBalancerIngress = v1("LoadBalancerIngress", "Ingress point of a load balancer.", {
  ip: value(1, string, "IP address of the ingress point, for IP-based load balancers."),
  hostname: value(2, string, "Host name of the ingress point, for DNS-based load balancers."),
  ipMode: pointer(
    3,
    named("v1.LoadBalancerIPMode", "VIP", "Proxy"),
    "Destination of delivered traffic: one of VIP (the IP address and port of the load " +
      "balancer), Proxy (those of a node or pod). Only with ip. Defaults to VIP.",
    { openApi: { enum: false } },
  ),
  ports: value(4, list(portStatus), "Status of the ports of the load balancer.", {
    listType: "atomic",
  }),
});

const loadBalancerStatus = v1("LoadBalancerStatus", "Status of the load balancer of a Service.", {
  ingress: value(
    1,
    list(loadBalancerIngress),
    "Ingress points of the load balancer, to which traffic for the Service should be sent.",
    { listType: "atomic" },
  ),
});

const serviceStatus = v1("ServiceStatus", "Observed state of a Service.", {
  loadBalancer: value(
    1,
    loadBalancerStatus,
    "Status of the load balancer, if the Service has one.",
  ),
  conditions: value(
    2,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
});

export const serviceV1 = v1(
  "Service",
  "Service exposes a set of pods under a stable name and virtual IP address, and balances " +
    "traffic between them.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is a DNS label."),
    spec: value(2, serviceSpec, "Ports, selector and type of exposure."),
    status: value(3, serviceStatus, "Status of the load balancer. Read-only."),
  },
);

export type Service = Infer<typeof serviceV1>;
export type ServicePort = Infer<typeof servicePort>;
export type LoadBalancerStatus = Infer<typeof loadBalancerStatus>;

/** clusterIP of headless Services. */
export const headlessIp = "None";

export function isHeadless({ spec }: Service): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === headlessIp;
}

/** Whether the type has a cluster IP; only ExternalName has none. */
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

/** Whether the Service is reachable from outside the cluster. */
export function isExternallyAccessible({ spec }: Service): boolean {
  if (spec.type === "LoadBalancer" || spec.type === "NodePort") return true;
  return spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0;
}
