/** Structs of containers. */
import {
  required,
  bool,
  type Infer,
  inline,
  int32,
  list,
  named,
  pointer,
  value,
  string,
  structs,
  mergedBy,
} from "#schema";
import { envFromSource, envVar } from "./environment.ts";
import { lifecycle, probe } from "./probes.ts";
import { containerResizePolicy, resourceRequirements } from "../../shared/resources.ts";
import { securityContext } from "./security-context.ts";

const v1 = structs("api/core/v1");

const containerPort = v1("ContainerPort", "Network port of a container.", {
  name: value(
    1,
    string,
    "Name by which Services and probes can refer to the port: a lowercase IANA service name, " +
      "unique within the pod.",
  ),
  hostPort: value(
    2,
    int32,
    "Port to expose on the host, 1 to 65535. With hostNetwork, it must equal containerPort. " +
      "The pod is only scheduled to nodes where it is free.",
  ),
  containerPort: required(3, int32, "Port to expose on the IP address of the pod, 1 to 65535."),
  protocol: value(
    4,
    named("v1.Protocol", "TCP", "UDP", "SCTP"),
    "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.",
    {
      default: "TCP",
      openApi: { default: true },
    },
  ),
  hostIP: value(
    5,
    string,
    "Host IP address to bind hostPort to. Defaults to all addresses of the host.",
  ),
});

const containerRestartRuleOnExitCodes = v1(
  "ContainerRestartRuleOnExitCodes",
  "Exit codes on which a container restart rule matches.",
  {
    operator: value(
      1,
      named("v1.ContainerRestartRuleOnExitCodesOperator"),
      "Relationship of the exit code to the values: one of In, NotIn. Required.",
      { openApi: { required: true } },
    ),
    values: value(2, list(int32), "Exit codes to compare with, at most 255 of them.", {
      listType: "set",
    }),
  },
);

const containerRestartRule = v1(
  "ContainerRestartRule",
  "Rule for the restart of a container that exited.",
  {
    action: value(
      1,
      named("v1.ContainerRestartRuleAction"),
      "Action to take if the rule matches. Only Restart is supported. Required.",
      {
        openApi: { required: true },
      },
    ),
    exitCodes: pointer(
      2,
      containerRestartRuleOnExitCodes,
      "Exit codes that the rule matches. Required.",
    ),
  },
);

const volumeMount = v1("VolumeMount", "Mount of a volume inside a container.", {
  name: required(1, string, "Name of a volume in spec.volumes of the pod."),
  readOnly: value(2, bool, "Whether the mount is read-only. Defaults to false."),
  recursiveReadOnly: pointer(
    7,
    named("v1.RecursiveReadOnlyMode"),
    "Whether a read-only mount is recursively read-only. One of Disabled, IfPossible (if the " +
      "runtime supports it), Enabled (the pod fails if it is not supported). Requires " +
      "readOnly, and mountPropagation None. Behaves as Disabled when absent.",
  ),
  mountPath: required(
    3,
    string,
    "Mount path within the container. Must not contain `:`, and must be unique within the " +
      "container.",
  ),
  subPath: value(
    4,
    string,
    "Path within the volume to mount instead of its root. Relative and without `..`. Mutually " +
      "exclusive with subPathExpr.",
  ),
  mountPropagation: pointer(
    5,
    named("v1.MountPropagationMode", "None", "HostToContainer", "Bidirectional"),
    "Propagation of mounts between host and container. One of None, HostToContainer, " +
      "Bidirectional (only for privileged containers). Behaves as None when absent.",
  ),
  subPathExpr: value(
    6,
    string,
    "Like subPath, but with references `$(VAR_NAME)` expanded from the environment of the " +
      "container. Mutually exclusive with subPath.",
  ),
});

const volumeDevice = v1(
  "VolumeDevice",
  "Raw block volume that appears as a device within a container.",
  {
    name: required(
      1,
      string,
      "Name of a volume of the pod that refers to a PersistentVolumeClaim with volumeMode Block.",
    ),
    devicePath: required(
      2,
      string,
      "Path within the container at which the device appears. Must be unique within the container.",
    ),
  },
);

const containerFields = {
  name: required(
    1,
    string,
    "Name of the container: a DNS label, unique among all containers of the pod. Immutable " +
      "in existing pods.",
  ),
  image: value(
    2,
    string,
    "Name of the container image, `registry/repository:tag` or with a digest. Required. Can be " +
      "changed in existing pods.",
  ),
  command: value(
    3,
    list(string),
    "Entry point array, instead of the image's ENTRYPOINT. Not run in a shell. `$(VAR_NAME)` " +
      "is expanded from the environment; `$$` escapes a dollar sign. Immutable in existing " +
      "pods.",
    {
      listType: "atomic",
    },
  ),
  args: value(
    4,
    list(string),
    "Arguments to the entry point, instead of the image's CMD. `$(VAR_NAME)` is expanded as in " +
      "command. Immutable in existing pods.",
    { listType: "atomic" },
  ),
  workingDir: value(
    5,
    string,
    "Working directory of the container. Defaults to that of the image. Immutable in existing " +
      "pods.",
  ),
  ports: value(
    6,
    list(containerPort),
    "Ports that the container exposes. Informational: a port that is not listed is exposed as " +
      "well if the container listens on it on all addresses. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["containerPort", "protocol"],
      patchStrategy: ["merge"],
      patchMergeKey: "containerPort",
    },
  ),
  envFrom: value(
    19,
    list(envFromSource),
    "ConfigMaps and Secrets whose keys become environment variables. The last source wins for " +
      "duplicate keys, and env takes precedence over all. Immutable in existing pods.",
    {
      listType: "atomic",
    },
  ),
  env: value(
    7,
    list(envVar),
    "Environment variables to set in the container. Immutable in existing pods.",
    mergedBy("name"),
  ),
  resources: value(
    8,
    resourceRequirements,
    "Compute resources that the container requires. In existing pods, CPU and memory can be " +
      "changed through the subresource `resize`.",
  ),
  resizePolicy: value(
    23,
    list(containerResizePolicy),
    "Whether the container restarts when its CPU or memory is resized in place. Defaults to " +
      "NotRequired for both resources. Beta: feature gate InPlacePodVerticalScaling.",
    {
      listType: "atomic",
    },
  ),
  restartPolicy: pointer(
    24,
    named("v1.ContainerRestartPolicy"),
    "Restart policy of this container, instead of that of the pod. Always makes an init " +
      "container a sidecar: started in order, restarted until the application containers have " +
      "ended, then stopped. Other uses require the feature gate ContainerRestartRules.",
  ),
  restartPolicyRules: value(
    25,
    list(containerRestartRule),
    "Rules that decide whether the container is restarted when it exits. The first matching " +
      "rule applies, otherwise restartPolicy, which must be set. At most 20. Alpha: requires " +
      "the feature gate ContainerRestartRules.",
    { listType: "atomic", gate: "ContainerRestartRules" },
  ),
  volumeMounts: value(
    9,
    list(volumeMount),
    "Volumes of the pod to mount into the container's filesystem. Immutable in existing pods.",
    mergedBy("mountPath"),
  ),
  volumeDevices: value(
    21,
    list(volumeDevice),
    "Block devices of the container: raw block volumes of the pod. Immutable in existing pods.",
    mergedBy("devicePath"),
  ),
  livenessProbe: pointer(
    10,
    probe,
    "Periodic probe of liveness. The kubelet restarts the container when it fails. Immutable " +
      "in existing pods.",
  ),
  readinessProbe: pointer(
    11,
    probe,
    "Periodic probe of readiness to serve traffic. While it fails, the pod is removed from the " +
      "endpoints of Services. Immutable in existing pods.",
  ),
  startupProbe: pointer(
    22,
    probe,
    "Probe that runs during startup until it succeeds; no other probe runs before. The kubelet " +
      "restarts the container when it fails. Immutable in existing pods.",
  ),
  lifecycle: pointer(
    12,
    lifecycle,
    "Lifecycle hooks: actions of the kubelet in response to the start and termination of the " +
      "container. Immutable in existing pods.",
  ),
  terminationMessagePath: value(
    13,
    string,
    "Path in the container of the file from which the termination message is read, at most " +
      "4096 bytes. Defaults to /dev/termination-log. Immutable in existing pods.",
  ),
  terminationMessagePolicy: value(
    20,
    named("v1.TerminationMessagePolicy", "File", "FallbackToLogsOnError"),
    "Source of the termination message. One of File, FallbackToLogsOnError (the last lines of " +
      "the log if the file is empty and the container failed). Defaults to File. Immutable in " +
      "existing pods.",
  ),
  imagePullPolicy: value(
    14,
    named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
    "Pull policy of the image: one of Always, Never, IfNotPresent. Defaults to Always if the " +
      "tag is `latest` or absent, otherwise to IfNotPresent. Immutable in existing pods.",
  ),
  securityContext: pointer(
    15,
    securityContext,
    "Security options of the container. They take precedence over those of the pod. Immutable " +
      "in existing pods.",
  ),
  stdin: value(
    16,
    bool,
    "Whether to allocate a buffer for stdin. Without it, reads from stdin return EOF. Defaults " +
      "to false. Immutable in existing pods.",
  ),
  stdinOnce: value(
    17,
    bool,
    "Whether stdin is closed after the first client that attached to it disconnects. Requires " +
      "stdin. Defaults to false. Immutable in existing pods.",
  ),
  tty: value(
    18,
    bool,
    "Whether to allocate a terminal (TTY) for the container. Requires stdin. Defaults to " +
      "false. Immutable in existing pods.",
  ),
} as const;

export const container = v1(
  "Container",
  "Single application container that runs within a pod.",
  containerFields,
);

const unsupported = <F extends { readonly doc: string }>(field: F, subject: string): F => ({
  ...field,
  doc: `${subject} not allowed for ephemeral containers.`,
});

/** Wire form of EphemeralContainer: a message with Container's fields and numbers. */
const ephemeralContainerCommon = v1(
  "EphemeralContainerCommon",
  "Fields that ephemeral containers share with regular ones.",
  {
    ...containerFields,
    image: {
      ...containerFields.image,
      doc: "Name of the container image, `registry/repository:tag` or with a digest. Required.",
    },
    ports: unsupported(containerFields.ports, "Ports are"),
    resources: unsupported(containerFields.resources, "Resource requests and limits are"),
    resizePolicy: unsupported(containerFields.resizePolicy, "A resize policy is"),
    restartPolicy: unsupported(containerFields.restartPolicy, "A restart policy is"),
    restartPolicyRules: unsupported(
      containerFields.restartPolicyRules,
      "Restart rules (alpha, feature gate ContainerRestartRules) are",
    ),
    livenessProbe: unsupported(containerFields.livenessProbe, "A liveness probe is"),
    readinessProbe: unsupported(containerFields.readinessProbe, "A readiness probe is"),
    startupProbe: unsupported(containerFields.startupProbe, "A startup probe is"),
    lifecycle: unsupported(containerFields.lifecycle, "Lifecycle hooks are"),
  },
);

export const ephemeralContainer = v1(
  "EphemeralContainer",
  "Temporary container that is added to a running pod for debugging. It has no resource or " +
    "scheduling guarantees, and is never restarted.",
  {
    ephemeralContainerCommon: inline(
      1,
      ephemeralContainerCommon,
      "Regular container fields. Ports, probes, lifecycle, resources and resizePolicy must " +
        "be absent.",
    ),
    targetContainerName: value(
      2,
      string,
      "Container of the pod whose namespaces (IPC, PID) the ephemeral container joins, if the " +
        "runtime supports it. If empty, it uses those of the pod.",
    ),
  },
);

/** Container; EphemeralContainer has these fields, too. */
export type Container = Infer<typeof container>;
export type EphemeralContainer = Infer<typeof ephemeralContainer>;
