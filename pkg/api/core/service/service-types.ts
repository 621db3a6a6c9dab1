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
} from "#schema";
import { condition, intOrString, objectMeta } from "#meta";

const v1 = structs("api/core/v1");

const protocol = named("v1.Protocol", "TCP", "UDP", "SCTP");

export const servicePort = v1("ServicePort", "Port that a Service exposes.", {
  name: value(
    1,
    string,
    "Name of the port, a DNS label that is unique within the Service. Required when there " +
      "is more than one. Also used in EndpointSlices.",
  ),
  protocol: value(2, protocol, "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.", {
    default: "TCP",
    openApi: { default: true },
  }),
  appProtocol: pointer(
    6,
    string,
    "Application protocol hint: an IANA service name such as `http`, or a domain-prefixed " +
      "name such as `example.com/own`.",
  ),
  port: required(3, int32, "Port number under which clients reach the Service, 1 to 65535."),
  targetPort: value(
    4,
    intOrString,
    "Port number or port name on the pods. A name may resolve to different numbers per " +
      "pod. Ignored for headless Services. Defaults to port.",
  ),
  nodePort: value(
    5,
    int32,
    "Port on every node, for types NodePort and LoadBalancer. Allocated from the node port " +
      "range unless given; rejected if in use.",
  ),
});

const clientIPConfig = v1("ClientIPConfig", "Session affinity by client IP address.", {
  timeoutSeconds: pointer(
    1,
    int32,
    "Seconds for which a client is sent to the same pod: 1 to 86400. Defaults to 10800 (3 hours).",
  ),
});

const sessionAffinityConfig = v1("SessionAffinityConfig", "Settings of session affinity.", {
  clientIP: pointer(1, clientIPConfig, "Settings for sessionAffinity ClientIP."),
});

const serviceSpec = v1("ServiceSpec", "Desired state of a Service.", {
  ports: value(
    1,
    list(servicePort),
    "Ports that the Service exposes. Required, except for headless and ExternalName Services.",
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
    "Labels of the pods that receive the traffic. When empty, another controller manages " +
      "the endpoints. Ignored for type ExternalName.",
    { mapType: "atomic" },
  ),
  clusterIP: value(
    3,
    string,
    "Virtual IP address of the Service. Allocated unless given; None makes the Service " +
      "headless. Ignored for ExternalName. Immutable, except on a change from or to " +
      "ExternalName.",
  ),
  clusterIPs: value(
    18,
    list(string),
    "Cluster IPs, at most one per IP family. The first equals clusterIP and is immutable; " +
      "the second can be added or removed with ipFamilyPolicy.",
    {
      listType: "atomic",
    },
  ),
  type: value(
    4,
    named("v1.ServiceType", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    "How the Service is exposed. One of ClusterIP (inside the cluster), NodePort (also on " +
      "a port of every node), LoadBalancer (also through an external load balancer), " +
      "ExternalName (DNS alias for externalName). Defaults to ClusterIP.",
  ),
  externalIPs: value(
    5,
    list(string),
    "Additional IP addresses for which nodes accept traffic of this Service. Routing to " +
      "the nodes is up to the administrator.",
    {
      listType: "atomic",
    },
  ),
  sessionAffinity: value(
    7,
    named("v1.ServiceAffinity", "ClientIP", "None"),
    "Whether connections of a client go to the same pod: one of ClientIP, None. Defaults to None.",
  ),
  loadBalancerIP: value(
    8,
    string,
    "Deprecated: requested IP address of the load balancer. Its meaning depends on the provider.",
  ),
  loadBalancerSourceRanges: value(
    9,
    list(string),
    "IP ranges, in CIDR notation, from which the load balancer accepts traffic, if the " +
      "provider supports it. Only for type LoadBalancer.",
    {
      listType: "atomic",
    },
  ),
  externalName: value(
    10,
    string,
    "DNS name that the cluster DNS returns as CNAME. Required for type ExternalName.",
  ),
  externalTrafficPolicy: value(
    11,
    named("v1.ServiceExternalTrafficPolicy", "Cluster", "Local"),
    "How traffic from outside is routed to pods. One of Cluster (to any endpoint; the " +
      "source IP may be lost), Local (only to endpoints on the receiving node; keeps the " +
      "source IP, drops traffic where there is none). Only for NodePort, LoadBalancer and " +
      "externalIPs. Defaults to Cluster.",
  ),
  healthCheckNodePort: value(
    12,
    int32,
    "Port on which each node tells the load balancer whether it has local endpoints. Only " +
      "for type LoadBalancer with externalTrafficPolicy Local. Allocated unless given. " +
      "Immutable.",
  ),
  publishNotReadyAddresses: value(
    13,
    bool,
    "Whether endpoints are published before their pods are ready. Meant for peer discovery " +
      "of StatefulSets through headless Services. Defaults to false.",
  ),
  sessionAffinityConfig: pointer(
    14,
    sessionAffinityConfig,
    "Details of sessionAffinity. For ClientIP, the server fills in the timeout; must be " +
      "absent for None.",
  ),
  ipFamilies: value(
    19,
    list(named("v1.IPFamily", "IPv4", "IPv6")),
    "IP families of the Service: IPv4, IPv6. Filled in according to ipFamilyPolicy. The " +
      "first is immutable, except on a change from or to ExternalName.",
    { listType: "atomic", openApi: { enum: ["", "IPv4", "IPv6"] } },
  ),
  ipFamilyPolicy: pointer(
    17,
    named("v1.IPFamilyPolicy", "SingleStack", "PreferDualStack", "RequireDualStack"),
    "Number of IP families. One of SingleStack, PreferDualStack (two if the cluster has " +
      "two), RequireDualStack (two, or creation fails). Defaults to SingleStack.",
  ),
  allocateLoadBalancerNodePorts: pointer(
    20,
    bool,
    "Whether node ports are allocated for type LoadBalancer. Ports given explicitly are " +
      "honored regardless. Defaults to true.",
  ),
  loadBalancerClass: pointer(
    21,
    string,
    "Load balancer implementation, as a label-style identifier such as " +
      "`example.com/internal`. Only for type LoadBalancer; by default that of the cloud " +
      "provider. Immutable.",
  ),
  internalTrafficPolicy: pointer(
    22,
    named("v1.ServiceInternalTrafficPolicy", "Cluster", "Local"),
    "How traffic to the cluster IP is routed to pods. One of Cluster (to any endpoint), " +
      "Local (only to endpoints on the client's node; dropped if there is none). Defaults to " +
      "Cluster.",
  ),
  trafficDistribution: pointer(
    23,
    string,
    "Preferred endpoints, a hint and not a guarantee: PreferClose (same zone), " +
      "PreferSameZone, PreferSameNode. The last two are beta: feature gate " +
      "PreferSameTrafficDistribution.",
    { gate: "ServiceTrafficDistribution" },
  ),
});

const portStatus = v1("PortStatus", "State of one port of a load balancer.", {
  port: required(1, int32, "Port number of the load balancer."),
  protocol: required(2, protocol, "Transport protocol of the port: one of TCP, UDP, SCTP."),
  error: pointer(
    3,
    string,
    "CamelCase reason why the port does not work, prefixed with a domain when specific to " +
      "a cloud provider. Absent when the port works.",
  ),
});

const loadBalancerIngress = v1(
  "LoadBalancerIngress",
  "One address under which the load balancer accepts traffic.",
  {
    ip: value(
      1,
      string,
      "IP address of the load balancer, set by providers that assign addresses.",
    ),
    hostname: value(
      2,
      string,
      "DNS name of the load balancer, set by providers that assign names.",
    ),
    ipMode: pointer(
      3,
      named("v1.LoadBalancerIPMode", "VIP", "Proxy"),
      "How packets arrive: one of VIP (addressed to the load balancer), Proxy (addressed to " +
        "a node or pod). Only with ip. Defaults to VIP.",
      { openApi: { enum: false } },
    ),
    ports: value(4, list(portStatus), "State of the ports that the load balancer exposes.", {
      listType: "atomic",
    }),
  },
);

const loadBalancerStatus = v1(
  "LoadBalancerStatus",
  "State of the load balancer in front of a Service.",
  {
    ingress: value(
      1,
      list(loadBalancerIngress),
      "Addresses at which the load balancer can be reached.",
      { listType: "atomic" },
    ),
  },
);

const serviceStatus = v1("ServiceStatus", "Observed state of a Service.", {
  loadBalancer: value(
    1,
    loadBalancerStatus,
    "Load balancer of the Service, for type LoadBalancer.",
  ),
  conditions: value(
    2,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    {
      listType: "map",
      listMapKeys: ["type"],
      patchStrategy: ["merge"],
      patchMergeKey: "type",
    },
  ),
});

export const serviceV1 = v1(
  "Service",
  "Service gives a set of pods a stable name and address, and balances traffic between them.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is a DNS label."),
    spec: value(2, serviceSpec, "Ports, selector and type of exposure."),
    status: value(3, serviceStatus, "Addresses of the load balancer. Read-only."),
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
