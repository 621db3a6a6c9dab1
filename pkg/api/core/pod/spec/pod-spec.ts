/** What a pod is to be. */
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
import { objectMeta, quantity } from "#meta";
import { container, ephemeralContainer } from "../container/containers.ts";
import { localObjectReference } from "../../shared/references.ts";
import { resourceRequirements } from "../../shared/resources.ts";
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

const hostAlias = v1("HostAlias", "A line of the pod's hosts file.", {
  ip: required(1, string, "Address."),
  hostnames: value(2, list(string), "Names of the address.", { listType: "atomic" }),
});

const podDNSConfigOption = v1("PodDNSConfigOption", "An option of the resolver.", {
  name: value(1, string, "Name of the option."),
  value: pointer(2, string, "Its value, if it has one."),
});

const podDNSConfig = v1("PodDNSConfig", "Settings of the resolver beyond what dnsPolicy gives.", {
  nameservers: value(1, list(string), "Addresses of name servers.", { listType: "atomic" }),
  searches: value(2, list(string), "Domains to search.", { listType: "atomic" }),
  options: value(3, list(podDNSConfigOption), "Options of the resolver.", { listType: "atomic" }),
});

const podOS = v1("PodOS", "Operating system of a pod.", {
  name: required(1, named("v1.OSName"), "linux or windows."),
});

export const podSpec = v1("PodSpec", "What a pod is to be.", {
  volumes: value(1, list(volume), "Directories that containers can mount.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge", "retainKeys"],
    patchMergeKey: "name",
  }),
  initContainers: value(
    20,
    list(container),
    "Containers that run one after another before the others.",
    { listType: "map", listMapKeys: ["name"], patchStrategy: ["merge"], patchMergeKey: "name" },
  ),
  containers: required(2, list(container), "Containers that run together.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
  }),
  ephemeralContainers: value(
    34,
    list(ephemeralContainer),
    "Containers put into the running pod to look into it.",
    { listType: "map", listMapKeys: ["name"], patchStrategy: ["merge"], patchMergeKey: "name" },
  ),
  restartPolicy: value(
    3,
    named("v1.RestartPolicy", "Always", "OnFailure", "Never"),
    "When containers start again: Always, OnFailure or Never.",
  ),
  terminationGracePeriodSeconds: pointer(
    4,
    int64,
    "Seconds that containers get to end in; 30 by default.",
  ),
  activeDeadlineSeconds: pointer(5, int64, "Seconds after which the pod is failed."),
  dnsPolicy: value(
    6,
    named("v1.DNSPolicy", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "Where names are looked up: ClusterFirst, ClusterFirstWithHostNet, Default or None.",
  ),
  nodeSelector: value(7, map(string), "Labels that the node must have.", { mapType: "atomic" }),
  serviceAccountName: value(8, string, "Service account that the pod acts as."),
  serviceAccount: value(9, string, "Old name of serviceAccountName."),
  automountServiceAccountToken: pointer(
    21,
    bool,
    "Whether containers get a token of the service account.",
  ),
  nodeName: value(10, string, "Node that the pod runs on."),
  hostNetwork: value(11, bool, "Use the node's network."),
  hostPID: value(12, bool, "See the node's processes."),
  hostIPC: value(13, bool, "Use the node's inter-process communication."),
  shareProcessNamespace: pointer(27, bool, "Let containers see each other's processes."),
  securityContext: pointer(14, podSecurityContext, "What processes of all containers may do."),
  imagePullSecrets: value(15, list(localObjectReference), "Secrets for pulling images.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
  }),
  hostname: value(16, string, "Host name; the pod's name by default."),
  subdomain: value(17, string, "Domain below that of the namespace."),
  affinity: pointer(18, affinity, "What draws the pod to places or keeps it away."),
  schedulerName: value(19, string, "Scheduler that picks the node."),
  tolerations: value(22, list(toleration), "Taints that do not keep the pod away.", {
    listType: "atomic",
  }),
  hostAliases: value(23, list(hostAlias), "Lines of the hosts file.", {
    listType: "map",
    listMapKeys: ["ip"],
    patchStrategy: ["merge"],
    patchMergeKey: "ip",
  }),
  priorityClassName: value(24, string, "Class that gives the priority."),
  priority: pointer(25, int32, "How important the pod is; higher is more."),
  dnsConfig: pointer(26, podDNSConfig, "Settings of the resolver."),
  readinessGates: value(28, list(podReadinessGate), "Conditions that the pod needs to be ready.", {
    listType: "atomic",
  }),
  runtimeClassName: pointer(29, string, "Class of container runtime."),
  enableServiceLinks: pointer(30, bool, "Whether services show up as variables; true by default."),
  preemptionPolicy: pointer(
    31,
    named("v1.PreemptionPolicy", "PreemptLowerPriority", "Never"),
    "PreemptLowerPriority or Never.",
  ),
  overhead: value(32, map(quantity), "Resources that running the pod takes beside its containers."),
  topologySpreadConstraints: value(
    33,
    list(topologySpreadConstraint),
    "How evenly such pods are spread over places.",
    {
      listType: "map",
      listMapKeys: ["topologyKey", "whenUnsatisfiable"],
      patchStrategy: ["merge"],
      patchMergeKey: "topologyKey",
    },
  ),
  setHostnameAsFQDN: pointer(35, bool, "Use the full domain name as host name."),
  os: pointer(36, podOS, "Operating system that the containers need."),
  hostUsers: pointer(37, bool, "False = run in a user namespace of its own."),
  schedulingGates: value(38, list(podSchedulingGate), "What keeps the pod from being scheduled.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
  }),
  resourceClaims: value(
    39,
    list(podResourceClaim),
    "Resource claims that must be there before the pod starts.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge", "retainKeys"],
      patchMergeKey: "name",
    },
  ),
  resources: pointer(40, resourceRequirements, "Resources for the pod as a whole."),
  hostnameOverride: pointer(41, string, "Host name as the pod itself sees it.", {
    gate: "HostnameOverride",
  }),
});

export const podTemplateSpec = v1("PodTemplateSpec", "Pods to be made.", {
  metadata: value(1, objectMeta, "Labels and annotations of the pods."),
  spec: value(2, podSpec, "What the pods are to be."),
});

export type PodSpec = Infer<typeof podSpec>;
export type PodTemplateSpec = Infer<typeof podTemplateSpec>;
