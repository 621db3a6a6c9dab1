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
} from "#schema";
import { envFromSource, envVar } from "./environment.ts";
import { lifecycle, probe } from "./probes.ts";
import { containerResizePolicy, resourceRequirements } from "../../shared/resources.ts";
import { securityContext } from "./security-context.ts";

const v1 = structs("api/core/v1");

const containerPort = v1(
  "ContainerPort",
  "Port that a container listens on. Informational: unlisted ports can be reached as well.",
  {
    name: value(
      1,
      string,
      "Name by which Services and probes can refer to the port. A lowercase IANA service " +
        "name, unique within the pod.",
    ),
    hostPort: value(
      2,
      int32,
      "Port of the node that is forwarded to the container, 1 to 65535. With hostNetwork it " +
        "must equal containerPort. Restricts scheduling to nodes where it is free.",
    ),
    containerPort: required(3, int32, "Port number inside the container, 1 to 65535."),
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
      "IP address of the node to bind hostPort to. Defaults to all addresses.",
    ),
  },
);

const containerRestartRuleOnExitCodes = v1(
  "ContainerRestartRuleOnExitCodes",
  "Matches a terminated container by its exit code.",
  {
    operator: value(
      1,
      named("v1.ContainerRestartRuleOnExitCodesOperator"),
      "Relationship of the exit code to the values: one of In, NotIn.",
      { openApi: { required: true } },
    ),
    values: value(2, list(int32), "Exit codes to compare with, 1 to 255 entries.", {
      listType: "set",
    }),
  },
);

const containerRestartRule = v1(
  "ContainerRestartRule",
  "Action to take when a container has terminated in a certain way.",
  {
    action: value(1, named("v1.ContainerRestartRuleAction"), "Action on a match: always Restart.", {
      openApi: { required: true },
    }),
    exitCodes: pointer(2, containerRestartRuleOnExitCodes, "Exit codes that trigger the rule."),
  },
);

const volumeMount = v1("VolumeMount", "Mount of a volume inside a container.", {
  name: required(1, string, "Name of the volume, as in spec.volumes of the pod."),
  readOnly: value(2, bool, "Whether the mount is read-only. Defaults to false."),
  recursiveReadOnly: pointer(
    7,
    named("v1.RecursiveReadOnlyMode"),
    "Whether mounts below a read-only mount are read-only too. One of Disabled, IfPossible " +
      "(if the runtime supports it), Enabled (or the pod fails). Requires readOnly, and " +
      "mountPropagation None or absent. Behaves as Disabled when absent.",
  ),
  mountPath: required(
    3,
    string,
    "Path inside the container at which the volume appears. Must not contain `:`, and must " +
      "be unique within the container.",
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
    "How mounts propagate between host and container. One of None, HostToContainer, " +
      "Bidirectional (only for privileged containers). Behaves as None when absent.",
  ),
  subPathExpr: value(
    6,
    string,
    "Like subPath, with references `$(VAR_NAME)` expanded from the environment of the " +
      "container. Mutually exclusive with subPath.",
  ),
});

const volumeDevice = v1(
  "VolumeDevice",
  "Raw block volume exposed as a device inside a container.",
  {
    name: required(
      1,
      string,
      "Name of a volume of the pod that refers to a claim with volumeMode Block.",
    ),
    devicePath: required(
      2,
      string,
      "Path inside the container at which the device appears. Must be unique within the container.",
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
    "Container image to run, `registry/repository:tag` or with a digest. The only field " +
      "besides resources that can change in a running pod.",
  ),
  command: value(
    3,
    list(string),
    "Entry point and its first arguments, instead of the image's ENTRYPOINT. Not run in a " +
      "shell. `$(VAR_NAME)` is expanded from the environment, `$$` escapes a dollar sign. " +
      "Immutable in existing pods.",
    {
      listType: "atomic",
    },
  ),
  args: value(
    4,
    list(string),
    "Arguments of the entry point, instead of the image's CMD. `$(VAR_NAME)` is expanded " +
      "as in command. Immutable in existing pods.",
    { listType: "atomic" },
  ),
  workingDir: value(
    5,
    string,
    "Working directory. Defaults to that of the image. Immutable in existing pods.",
  ),
  ports: value(
    6,
    list(containerPort),
    "Ports that the container exposes. Omitting one does not prevent access to it. " +
      "Immutable in existing pods.",
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
    "ConfigMaps and Secrets whose entries become environment variables. On duplicates the " +
      "last source wins, and env wins over all. Immutable in existing pods.",
    {
      listType: "atomic",
    },
  ),
  env: value(
    7,
    list(envVar),
    "Environment variables to set in the container. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["name"],
      patchStrategy: ["merge"],
      patchMergeKey: "name",
    },
  ),
  resources: value(
    8,
    resourceRequirements,
    "CPU, memory and other resources that the container requests, and their limits. " +
      "Changed in place through the subresource `resize`.",
  ),
  resizePolicy: value(
    23,
    list(containerResizePolicy),
    "Whether the container must restart when its CPU or memory is resized. Defaults to " +
      "NotRequired for each resource. Beta: feature gate InPlacePodVerticalScaling.",
    {
      listType: "atomic",
    },
  ),
  restartPolicy: pointer(
    24,
    named("v1.ContainerRestartPolicy"),
    "Restart policy of this container. Only Always on init containers by default, which " +
      "turns them into sidecars: they start in order, keep running beside the others, and " +
      "stop last.",
  ),
  restartPolicyRules: value(
    25,
    list(containerRestartRule),
    "Rules evaluated in order when the container exits; the first match applies, otherwise " +
      "restartPolicy. At most 20. Alpha: requires the feature gate ContainerRestartRules.",
    { listType: "atomic", gate: "ContainerRestartRules" },
  ),
  volumeMounts: value(
    9,
    list(volumeMount),
    "Volumes of the pod to mount into the filesystem of the container. Immutable in " +
      "existing pods.",
    {
      listType: "map",
      listMapKeys: ["mountPath"],
      patchStrategy: ["merge"],
      patchMergeKey: "mountPath",
    },
  ),
  volumeDevices: value(
    21,
    list(volumeDevice),
    "Raw block volumes of the pod to expose as devices. Immutable in existing pods.",
    {
      listType: "map",
      listMapKeys: ["devicePath"],
      patchStrategy: ["merge"],
      patchMergeKey: "devicePath",
    },
  ),
  livenessProbe: pointer(
    10,
    probe,
    "Periodic check of liveness. On failure the kubelet restarts the container. Immutable " +
      "in existing pods.",
  ),
  readinessProbe: pointer(
    11,
    probe,
    "Periodic check of readiness. While it fails, the pod is removed from the endpoints of " +
      "Services. Immutable in existing pods.",
  ),
  startupProbe: pointer(
    22,
    probe,
    "Check that runs until it first succeeds; liveness and readiness probes start only " +
      "then. On failure the container is restarted. Immutable in existing pods.",
  ),
  lifecycle: pointer(
    12,
    lifecycle,
    "Handlers to run after the start and before the termination of the container. " +
      "Immutable in existing pods.",
  ),
  terminationMessagePath: value(
    13,
    string,
    "Path inside the container of a file whose content becomes its termination message, at " +
      "most 4096 bytes. Defaults to /dev/termination-log. Immutable in existing pods.",
  ),
  terminationMessagePolicy: value(
    20,
    named("v1.TerminationMessagePolicy", "File", "FallbackToLogsOnError"),
    "Source of the termination message. One of File, FallbackToLogsOnError (the end of the " +
      "log if the file is empty and the container failed). Defaults to File. Immutable in " +
      "existing pods.",
  ),
  imagePullPolicy: value(
    14,
    named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
    "When to pull the image: one of Always, Never, IfNotPresent. Defaults to Always for " +
      "tag `latest` or no tag, otherwise to IfNotPresent. Immutable in existing pods.",
  ),
  securityContext: pointer(
    15,
    securityContext,
    "Security settings of the container. They take precedence over those of the pod.",
  ),
  stdin: value(
    16,
    bool,
    "Whether to allocate a buffer for stdin; otherwise reads return EOF. Defaults to false.",
  ),
  stdinOnce: value(
    17,
    bool,
    "Whether stdin is closed after the first attached client disconnects. Requires stdin. " +
      "Defaults to false.",
  ),
  tty: value(
    18,
    bool,
    "Whether to allocate a terminal for the container. Requires stdin. Defaults to false.",
  ),
} as const;

export const container = v1("Container", "Container that runs within a pod.", containerFields);

/** Wire form of EphemeralContainer: a message with Container's fields and numbers. */
const ephemeralContainerCommon = v1(
  "EphemeralContainerCommon",
  "Fields that ephemeral containers share with regular ones.",
  containerFields,
);

export const ephemeralContainer = v1(
  "EphemeralContainer",
  "Temporary container that is added to a running pod for debugging. It has no resource " +
    "guarantees and is never restarted.",
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
      "Container of the pod whose process namespace is shared. Absent for an isolated one. " +
        "The runtime must support it.",
    ),
  },
);

/** Container; EphemeralContainer has these fields, too. */
export type Container = Infer<typeof container>;
export type EphemeralContainer = Infer<typeof ephemeralContainer>;
