/** Struct PodSpec. */
import {
  required,
  bool,
  type Infer,
  int32,
  int64,
  list,
  map,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectMeta } from "#meta";
import { container, ephemeralContainer } from "../container/containers.ts";
import { localObjectReference } from "../../shared/references.ts";
import { resourceRequirements, resourceList } from "../../shared/resources.ts";
import {
  affinity,
  podReadinessGate,
  podResourceClaim,
  podSchedulingGate,
  topologySpreadConstraint,
} from "./scheduling.ts";
import { podSecurityContext } from "../container/security-context.ts";
import { toleration } from "./toleration.ts";
import { volume } from "../../volume/volumes.ts";

const v1 = structs("api/core/v1");

const hostAlias = v1("HostAlias", "Entry of the hosts file of a pod.", {
  ip: required(1, string, "IP address that the names resolve to."),
  hostnames: value(2, list(string), "Host names of the IP address.", { listType: "atomic" }),
});

const podDNSConfigOption = v1("PodDNSConfigOption", "Option of the DNS resolver of a pod.", {
  name: value(1, string, "Name of the option, for example `ndots`. Required."),
  value: pointer(2, string, "Value of the option. Absent for options without a value."),
});

const podDNSConfig = v1(
  "PodDNSConfig",
  "DNS settings of a pod, merged with those that dnsPolicy generates.",
  {
    nameservers: value(
      1,
      list(string),
      "IP addresses of name servers, at most 3 after merging. Required with dnsPolicy None.",
      { listType: "atomic" },
    ),
    searches: value(
      2,
      list(string),
      "Search domains for unqualified names, at most 32 after merging.",
      { listType: "atomic" },
    ),
    options: value(
      3,
      list(podDNSConfigOption),
      "Resolver options. They take precedence over generated options of the same name.",
      { listType: "atomic" },
    ),
  },
);

const podOS = v1("PodOS", "Operating system of a pod.", {
  name: required(1, named("v1.OSName"), "Name of the operating system: linux or windows."),
});

export const podSpec = v1("PodSpec", "Desired state of a pod.", {
  volumes: value(
    1,
    list(volume),
    "Volumes that containers of the pod can mount. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge", "retainKeys"],
      patchMergeKey: "name",
    },
  ),
  initContainers: value(
    20,
    list(container),
    "Containers that run one after another to completion before the application containers " +
      "start. One with restartPolicy Always keeps running as a sidecar. Immutable in " +
      "existing pods, except for images.",
    { listType: "map", listMapKeys: ["name"], patchStrategy: ["merge"], patchMergeKey: "name" },
  ),
  containers: required(
    2,
    list(container),
    "Application containers of the pod; at least one. None can be added or removed later.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge"],
      patchMergeKey: "name",
    },
  ),
  ephemeralContainers: value(
    34,
    list(ephemeralContainer),
    "Temporary containers for debugging. Added through the subresource " +
      "`ephemeralcontainers` only, and never removed.",
    { listType: "map", listMapKeys: ["name"], patchStrategy: ["merge"], patchMergeKey: "name" },
  ),
  restartPolicy: value(
    3,
    named("v1.RestartPolicy", "Always", "OnFailure", "Never"),
    "When to restart the containers of the pod: one of Always, OnFailure, Never. Workload " +
      "controllers restrict the choice. Defaults to Always. Immutable in existing pods.",
  ),
  terminationGracePeriodSeconds: pointer(
    4,
    int64,
    "Seconds between the request to terminate and the forced kill of processes. preStop " +
      "handlers count. 0 kills immediately. Defaults to 30. Immutable in existing pods.",
  ),
  activeDeadlineSeconds: pointer(
    5,
    int64,
    "Seconds since startTime after which the kubelet fails the pod. Must be positive. May " +
      "only be set or reduced later.",
  ),
  dnsPolicy: value(
    6,
    named("v1.DNSPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "DNS resolution of the pod. One of ClusterFirst (cluster DNS, then that of the node), " +
      "ClusterFirstWithHostNet (the same with hostNetwork), Default (that of the node), None " +
      "(only dnsConfig). Defaults to ClusterFirst. Immutable in existing pods.",
  ),
  nodeSelector: value(
    7,
    map(string),
    "Labels that a node must have to run the pod. Immutable in existing pods, but may be " +
      "extended while scheduling gates exist.",
    { mapType: "atomic" },
  ),
  serviceAccountName: value(
    8,
    string,
    "Service account that the pod runs as. Defaults to `default` through admission. " +
      "Immutable in existing pods.",
  ),
  serviceAccount: value(
    9,
    string,
    "Deprecated: use serviceAccountName, with which it is kept equal.",
  ),
  automountServiceAccountToken: pointer(
    21,
    bool,
    "Whether a service account token is mounted into the containers. Defaults to the " +
      "setting of the service account. Immutable in existing pods.",
  ),
  nodeName: value(
    10,
    string,
    "Node that the pod runs on, normally set by the scheduler. Setting it directly " +
      "bypasses scheduling. Immutable in existing pods once set.",
  ),
  hostNetwork: value(
    11,
    bool,
    "Whether the pod uses the network namespace of the node. Ports must then be free on " +
      "the node. Defaults to false. Immutable in existing pods.",
  ),
  hostPID: value(
    12,
    bool,
    "Whether the pod uses the process namespace of the node. Mutually exclusive with " +
      "shareProcessNamespace. Defaults to false. Immutable in existing pods.",
  ),
  hostIPC: value(
    13,
    bool,
    "Whether the pod uses the IPC namespace of the node. Defaults to false. Immutable in " +
      "existing pods.",
  ),
  shareProcessNamespace: pointer(
    27,
    bool,
    "Whether all containers share a single process namespace. Mutually exclusive with hostPID. " +
      "Defaults to false. Immutable in existing pods.",
  ),
  securityContext: pointer(
    14,
    podSecurityContext,
    "Security settings for all containers of the pod. Settings of a container take " +
      "precedence. Immutable in existing pods.",
  ),
  imagePullSecrets: value(
    15,
    list(localObjectReference),
    "Secrets with registry credentials for pulling the images. Defaults to those of the " +
      "service account. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge"],
      patchMergeKey: "name",
    },
  ),
  hostname: value(
    16,
    string,
    "Host name of the pod, a DNS label. Defaults to the name of the pod. Immutable in " +
      "existing pods.",
  ),
  subdomain: value(
    17,
    string,
    "Subdomain of the pod: its fully qualified name becomes " +
      "<hostname>.<subdomain>.<namespace>.svc.<cluster domain>. Needs a headless Service of " +
      "that name. Immutable in existing pods.",
  ),
  affinity: pointer(
    18,
    affinity,
    "Scheduling constraints: node affinity, pod affinity and pod anti-affinity. Immutable " +
      "in existing pods.",
  ),
  schedulerName: value(
    19,
    string,
    "Scheduler that dispatches the pod. Defaults to `default-scheduler`. Immutable in " +
      "existing pods.",
  ),
  tolerations: value(
    22,
    list(toleration),
    "Taints that the pod tolerates. Entries can be added later, but not removed.",
    {
      listType: "atomic",
    },
  ),
  hostAliases: value(
    23,
    list(hostAlias),
    "Entries for the hosts file of the pod. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["ip"],
      patchStrategy: ["merge"],
      patchMergeKey: "ip",
    },
  ),
  priorityClassName: value(
    24,
    string,
    "PriorityClass of the pod. Admission derives priority and preemptionPolicy from it. " +
      "Defaults to the global default class. Immutable in existing pods.",
  ),
  priority: pointer(
    25,
    int32,
    "Priority of the pod; higher values are scheduled first and may preempt lower ones. " +
      "Set by admission from priorityClassName. Immutable in existing pods.",
  ),
  dnsConfig: pointer(
    26,
    podDNSConfig,
    "DNS settings that complement dnsPolicy. Immutable in existing pods.",
  ),
  readinessGates: value(
    28,
    list(podReadinessGate),
    "Additional conditions that must be True for the pod to be ready. Immutable in existing pods.",
    {
      listType: "atomic",
    },
  ),
  runtimeClassName: pointer(
    29,
    string,
    "RuntimeClass of the pod. If it does not exist, the pod does not run. Defaults to the " +
      "default handler. Immutable in existing pods.",
  ),
  enableServiceLinks: pointer(
    30,
    bool,
    "Whether Services of the namespace are injected as environment variables. Defaults to " +
      "true. Immutable in existing pods.",
  ),
  preemptionPolicy: pointer(
    31,
    named("v1.PreemptionPolicy", "PreemptLowerPriority", "Never"),
    "Whether the pod may preempt pods of lower priority: one of PreemptLowerPriority, " +
      "Never. Set by admission from the PriorityClass, otherwise PreemptLowerPriority. " +
      "Immutable in existing pods.",
  ),
  overhead: value(
    32,
    resourceList,
    "Resources that the sandbox consumes besides the containers. Set by admission from the " +
      "RuntimeClass. Immutable in existing pods.",
  ),
  topologySpreadConstraints: value(
    33,
    list(topologySpreadConstraint),
    "How pods are spread over topology domains such as zones. All constraints must hold. " +
      "Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["topologyKey", "whenUnsatisfiable"],
      patchStrategy: ["merge"],
      patchMergeKey: "topologyKey",
    },
  ),
  setHostnameAsFQDN: pointer(
    35,
    bool,
    "Whether the host name is the fully qualified domain name instead of its first label. " +
      "Defaults to false. Immutable in existing pods.",
  ),
  os: pointer(
    36,
    podOS,
    "Operating system of the containers. Fields specific to the other operating system " +
      "must then be absent. Immutable in existing pods.",
  ),
  hostUsers: pointer(
    37,
    bool,
    "Whether the pod uses the user namespace of the node; false creates one for the pod. " +
      "Defaults to true. Immutable in existing pods. Beta: feature gate " +
      "UserNamespacesSupport.",
  ),
  schedulingGates: value(
    38,
    list(podSchedulingGate),
    "Gates that keep the pod from being scheduled while the list is not empty. Can only be " +
      "set on creation, and removed afterwards.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge"],
      patchMergeKey: "name",
    },
  ),
  resourceClaims: value(
    39,
    list(podResourceClaim),
    "ResourceClaims that must be allocated and reserved before the pod starts. Containers " +
      "refer to them by name. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge", "retainKeys"],
      patchMergeKey: "name",
    },
  ),
  resources: pointer(
    40,
    resourceRequirements,
    "Requests and limits of the pod as a whole: cpu, memory and hugepages only. Containers " +
      "share them. Beta: feature gate PodLevelResources.",
  ),
  hostnameOverride: pointer(
    41,
    string,
    "Host name of the pod as a DNS subdomain of at most 64 characters, without entry in DNS. " +
      "Mutually exclusive with hostNetwork and setHostnameAsFQDN. Alpha: requires the feature " +
      "gate HostnameOverride.",
    {
      gate: "HostnameOverride",
    },
  ),
});

export const podTemplateSpec = v1(
  "PodTemplateSpec",
  "Template of the pods that a controller creates.",
  {
    metadata: value(
      1,
      objectMeta,
      "Metadata of each pod. Its labels must match the selector of the controller.",
    ),
    spec: value(2, podSpec, "Specification that each pod starts with."),
  },
);

export type PodSpec = Infer<typeof podSpec>;
export type PodTemplateSpec = Infer<typeof podTemplateSpec>;
