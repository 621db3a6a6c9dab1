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
  mergedBy,
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

const hostAlias = v1("HostAlias", "Entry in the hosts file of a pod.", {
  ip: required(1, string, "IP address of the entry."),
  hostnames: value(2, list(string), "Host names for the IP address.", { listType: "atomic" }),
});

const podDNSConfigOption = v1("PodDNSConfigOption", "DNS resolver option of a pod.", {
  name: value(1, string, "Name of the option, for example `ndots`. Required."),
  value: pointer(2, string, "Value of the option. Absent for options that take none."),
});

const podDNSConfig = v1(
  "PodDNSConfig",
  "DNS parameters of a pod, merged with those that dnsPolicy generates.",
  {
    nameservers: value(
      1,
      list(string),
      "IP addresses of DNS name servers, appended to those of dnsPolicy. At most 3. Required " +
        "with dnsPolicy None.",
      { listType: "atomic" },
    ),
    searches: value(
      2,
      list(string),
      "DNS search domains, appended to those of dnsPolicy. At most 32.",
      { listType: "atomic" },
    ),
    options: value(
      3,
      list(podDNSConfigOption),
      "DNS resolver options. They override options of the same name from dnsPolicy.",
      { listType: "atomic" },
    ),
  },
);

const podOS = v1("PodOS", "Operating system of the containers of a pod.", {
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
    "Containers that run to completion, one after another, before the application containers " +
      "start. One with restartPolicy Always keeps running as a sidecar. Immutable in existing " +
      "pods, except for images.",
    mergedBy("name"),
  ),
  containers: required(
    2,
    list(container),
    "Application containers of the pod, at least one. Containers cannot be added or removed later.",
    mergedBy("name"),
  ),
  ephemeralContainers: value(
    34,
    list(ephemeralContainer),
    "Temporary containers for debugging. They can only be added through the subresource " +
      "`ephemeralcontainers`, and never removed.",
    mergedBy("name"),
  ),
  restartPolicy: value(
    3,
    named("v1.RestartPolicy", "Always", "OnFailure", "Never"),
    "Restart policy for all containers of the pod: one of Always, OnFailure, Never. Workload " +
      "controllers restrict the choice. Defaults to Always. Immutable in existing pods.",
  ),
  terminationGracePeriodSeconds: pointer(
    4,
    int64,
    "Seconds that the pod has to terminate gracefully, including preStop hooks, before its " +
      "processes are killed. 0 kills them immediately. Defaults to 30. Immutable in existing " +
      "pods.",
  ),
  activeDeadlineSeconds: pointer(
    5,
    int64,
    "Seconds after startTime at which the pod is terminated and marked as failed. Must be " +
      "positive. Can only be set or reduced in existing pods.",
  ),
  dnsPolicy: value(
    6,
    named("v1.DNSPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "DNS policy of the pod. One of ClusterFirst (cluster DNS, which forwards other names " +
      "upstream), ClusterFirstWithHostNet (the same for pods with hostNetwork), Default (DNS " +
      "settings of the node), None (only dnsConfig). Defaults to ClusterFirst. Immutable in " +
      "existing pods.",
  ),
  nodeSelector: value(
    7,
    map(string),
    "Labels that a node must have for the pod to be scheduled on it. Immutable in existing " +
      "pods, but can be extended while schedulingGates is not empty.",
    { mapType: "atomic" },
  ),
  serviceAccountName: value(
    8,
    string,
    "Name of the ServiceAccount to run the pod as. Admission sets `default` if it is empty. " +
      "Immutable in existing pods.",
  ),
  serviceAccount: value(
    9,
    string,
    "Deprecated alias of serviceAccountName, which is kept equal to it.",
  ),
  automountServiceAccountToken: pointer(
    21,
    bool,
    "Whether a service account token is mounted automatically. Defaults to the setting of the " +
      "ServiceAccount. Immutable in existing pods.",
  ),
  nodeName: value(
    10,
    string,
    "Name of the node to which the pod is scheduled, normally set by the scheduler. Setting it " +
      "on creation bypasses the scheduler. Immutable in existing pods once set.",
  ),
  hostNetwork: value(
    11,
    bool,
    "Whether the pod uses the host's network namespace. hostPort of its containers then " +
      "defaults to containerPort. Defaults to false. Immutable in existing pods.",
  ),
  hostPID: value(
    12,
    bool,
    "Whether the pod uses the host's PID namespace. Mutually exclusive with " +
      "shareProcessNamespace. Defaults to false. Immutable in existing pods.",
  ),
  hostIPC: value(
    13,
    bool,
    "Whether the pod uses the host's IPC namespace. Defaults to false. Immutable in existing pods.",
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
    "Pod-level security attributes and defaults for the containers. Settings of a container " +
      "take precedence. Immutable in existing pods.",
  ),
  imagePullSecrets: value(
    15,
    list(localObjectReference),
    "Secrets in the same namespace with credentials for pulling the images. Defaults to those " +
      "of the ServiceAccount. Immutable in existing pods.",
    mergedBy("name"),
  ),
  hostname: value(
    16,
    string,
    "Host name of the pod, a DNS label. Defaults to the name of the pod. Immutable in existing " +
      "pods.",
  ),
  subdomain: value(
    17,
    string,
    "Subdomain of the pod. With it, the fully qualified domain name is " +
      "`<hostname>.<subdomain>.<namespace>.svc.<cluster domain>`. DNS needs a headless Service " +
      "of that name. Immutable in existing pods.",
  ),
  affinity: pointer(
    18,
    affinity,
    "Scheduling constraints: node affinity, pod affinity and pod anti-affinity. Immutable in " +
      "existing pods, but nodeAffinity can be restricted further while schedulingGates is not " +
      "empty.",
  ),
  schedulerName: value(
    19,
    string,
    "Name of the scheduler that dispatches the pod. Defaults to `default-scheduler`. Immutable " +
      "in existing pods.",
  ),
  tolerations: value(
    22,
    list(toleration),
    "Tolerations of the pod for taints of nodes. Tolerations can be added to existing pods, " +
      "but not removed.",
    {
      listType: "atomic",
    },
  ),
  hostAliases: value(
    23,
    list(hostAlias),
    "Additional entries in the hosts file of the pod. Immutable in existing pods.",
    mergedBy("ip"),
  ),
  priorityClassName: value(
    24,
    string,
    "Name of the PriorityClass of the pod, from which admission sets priority and " +
      "preemptionPolicy. Defaults to the PriorityClass with globalDefault, if there is one. " +
      "Immutable in existing pods.",
  ),
  priority: pointer(
    25,
    int32,
    "Priority of the pod: pods with higher values are scheduled first and can preempt others. " +
      "Set by admission from priorityClassName. Immutable in existing pods.",
  ),
  dnsConfig: pointer(
    26,
    podDNSConfig,
    "DNS parameters, merged with those generated from dnsPolicy. Immutable in existing pods.",
  ),
  readinessGates: value(
    28,
    list(podReadinessGate),
    "Conditions that must be True, besides ContainersReady, for the pod to be ready. Immutable " +
      "in existing pods.",
    {
      listType: "atomic",
    },
  ),
  runtimeClassName: pointer(
    29,
    string,
    "Name of the RuntimeClass to run the pod with. The pod does not run if there is no such " +
      "RuntimeClass. Defaults to the default runtime handler. Immutable in existing pods.",
  ),
  enableServiceLinks: pointer(
    30,
    bool,
    "Whether environment variables are set for the Services of the namespace. Defaults to " +
      "true. Immutable in existing pods.",
  ),
  preemptionPolicy: pointer(
    31,
    named("v1.PreemptionPolicy", "PreemptLowerPriority", "Never"),
    "Preemption policy of the pod: one of PreemptLowerPriority, Never. Set by admission from " +
      "the PriorityClass. Defaults to PreemptLowerPriority. Immutable in existing pods.",
  ),
  overhead: value(
    32,
    resourceList,
    "Resource overhead of running the pod sandbox, in addition to the containers. Set by " +
      "admission from the RuntimeClass. Immutable in existing pods.",
  ),
  topologySpreadConstraints: value(
    33,
    list(topologySpreadConstraint),
    "Constraints on how pods are spread across topology domains such as zones, which are " +
      "ANDed. Immutable in existing pods.",
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
    "Whether the host name inside the pod is its fully qualified domain name instead of the " +
      "short name. Defaults to false. Immutable in existing pods.",
  ),
  os: pointer(
    36,
    podOS,
    "Operating system of the containers. Fields that are specific to another operating system " +
      "must then be unset. Immutable in existing pods.",
  ),
  hostUsers: pointer(
    37,
    bool,
    "Whether the pod uses the host's user namespace; false creates a new user namespace for " +
      "the pod. Defaults to true. Immutable in existing pods. Beta: feature gate " +
      "UserNamespacesSupport.",
  ),
  schedulingGates: value(
    38,
    list(podSchedulingGate),
    "Scheduling gates: the pod is not scheduled until the list is empty. They can only be set " +
      "on creation, and removed later.",
    mergedBy("name"),
  ),
  resourceClaims: value(
    39,
    list(podResourceClaim),
    "ResourceClaims to be allocated and reserved before the pod can start. Containers use them " +
      "by name. Immutable in existing pods.",
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
    "Requests and limits of the pod as a whole, which its containers share: cpu, memory and " +
      "hugepages only. Immutable in existing pods. Beta: feature gate PodLevelResources.",
  ),
  hostnameOverride: pointer(
    41,
    string,
    "Host name of the pod instead of the one from hostname and subdomain: a DNS subdomain of " +
      "at most 64 characters, without a DNS record. Mutually exclusive with hostNetwork and " +
      "setHostnameAsFQDN. Alpha: requires the feature gate HostnameOverride.",
    {
      gate: "HostnameOverride",
    },
  ),
});

export const podTemplateSpec = v1(
  "PodTemplateSpec",
  "Template from which a controller creates pods.",
  {
    metadata: value(
      1,
      objectMeta,
      "Metadata of the pods. The labels must match the selector of the controller.",
    ),
    spec: value(2, podSpec, "Specification of the pods."),
  },
);

export type PodSpec = Infer<typeof podSpec>;
export type PodTemplateSpec = Infer<typeof podTemplateSpec>;
