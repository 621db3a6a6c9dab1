/** Containers of pods. */
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

const containerPort = v1("ContainerPort", "A port that a container listens on.", {
  name: value(1, string, "Name by which services can refer to it."),
  hostPort: value(2, int32, "Port of the node that leads to it."),
  containerPort: required(3, int32, "Number of the port."),
  protocol: value(4, named("v1.Protocol", "TCP", "UDP", "SCTP"), "TCP, UDP or SCTP.", {
    default: "TCP",
  }),
  hostIP: value(5, string, "Address of the node for hostPort."),
});

const containerRestartRuleOnExitCodes = v1(
  "ContainerRestartRuleOnExitCodes",
  "Which exit codes are meant.",
  {
    operator: value(1, named("v1.ContainerRestartRuleOnExitCodesOperator"), "In or NotIn."),
    values: value(2, list(int32), "Exit codes.", { listType: "set" }),
  },
);

const containerRestartRule = v1(
  "ContainerRestartRule",
  "What to do when the container has ended in a certain way.",
  {
    action: value(1, named("v1.ContainerRestartRuleAction"), "Restart."),
    exitCodes: pointer(2, containerRestartRuleOnExitCodes, "Exit codes for which the rule holds."),
  },
);

const volumeMount = v1("VolumeMount", "A volume at a path of a container.", {
  name: required(1, string, "Name of the volume."),
  readOnly: value(2, bool, "Mount it read-only."),
  recursiveReadOnly: pointer(
    7,
    named("v1.RecursiveReadOnlyMode"),
    "Whether mounts below are read-only too: Disabled, IfPossible or Enabled.",
  ),
  mountPath: required(3, string, "Path in the container; must not hold `:`."),
  subPath: value(4, string, "Path within the volume; its root by default."),
  mountPropagation: pointer(
    5,
    named("v1.MountPropagationMode", "None", "HostToContainer", "Bidirectional"),
    "How mounts spread: None, HostToContainer or Bidirectional.",
  ),
  subPathExpr: value(6, string, "Path within the volume, with `$(NAME)` for variables."),
});

const volumeDevice = v1("VolumeDevice", "A raw block volume as a device of a container.", {
  name: required(1, string, "Name of the volume, a claim."),
  devicePath: required(2, string, "Path of the device in the container."),
});

const containerFields = {
  name: required(1, string, "Name, unique within the pod."),
  image: value(2, string, "Image to run."),
  command: value(3, list(string), "Program and arguments, instead of the image's entry point.", {
    listType: "atomic",
  }),
  args: value(4, list(string), "Arguments, instead of the image's.", { listType: "atomic" }),
  workingDir: value(5, string, "Directory to start in."),
  ports: value(6, list(containerPort), "Ports that the container listens on.", {
    listType: "map",
    listMapKeys: ["containerPort", "protocol"],
    patchStrategy: ["merge"],
    patchMergeKey: "containerPort",
  }),
  envFrom: value(19, list(envFromSource), "Objects whose entries become variables.", {
    listType: "atomic",
  }),
  env: value(7, list(envVar), "Environment variables.", {
    listType: "map",
    listMapKeys: ["name"],
    patchStrategy: ["merge"],
    patchMergeKey: "name",
  }),
  resources: value(8, resourceRequirements, "Resources asked for and allowed."),
  resizePolicy: value(23, list(containerResizePolicy), "What happens when resources change.", {
    listType: "atomic",
  }),
  restartPolicy: pointer(
    24,
    named("v1.ContainerRestartPolicy"),
    "When this container starts again; Always makes an init container a sidecar.",
  ),
  restartPolicyRules: value(
    25,
    list(containerRestartRule),
    "Rules that come before restartPolicy.",
    { listType: "atomic", gate: "ContainerRestartRules" },
  ),
  volumeMounts: value(9, list(volumeMount), "Volumes to mount.", {
    listType: "map",
    listMapKeys: ["mountPath"],
    patchStrategy: ["merge"],
    patchMergeKey: "mountPath",
  }),
  volumeDevices: value(21, list(volumeDevice), "Block volumes to use as devices.", {
    listType: "map",
    listMapKeys: ["devicePath"],
    patchStrategy: ["merge"],
    patchMergeKey: "devicePath",
  }),
  livenessProbe: pointer(10, probe, "Check whose failure restarts the container."),
  readinessProbe: pointer(11, probe, "Check whose failure takes the pod out of service."),
  startupProbe: pointer(22, probe, "Check that must pass before the others begin."),
  lifecycle: pointer(12, lifecycle, "What happens at the start and end."),
  terminationMessagePath: value(13, string, "File with the container's last words."),
  terminationMessagePolicy: value(
    20,
    named("v1.TerminationMessagePolicy", "File", "FallbackToLogsOnError"),
    "File, or FallbackToLogsOnError to take the log's end.",
  ),
  imagePullPolicy: value(
    14,
    named("v1.PullPolicy", "Always", "Never", "IfNotPresent"),
    "Always, Never or IfNotPresent.",
  ),
  securityContext: pointer(15, securityContext, "What its processes may do."),
  stdin: value(16, bool, "Keep an input stream open."),
  stdinOnce: value(17, bool, "Close the input once the first client is gone."),
  tty: value(18, bool, "Give it a terminal; needs stdin."),
} as const;

export const container = v1("Container", "A program that runs in a pod.", containerFields);

/** On the wire a message of its own with the same fields and numbers as Container. */
const ephemeralContainerCommon = v1(
  "EphemeralContainerCommon",
  "What an ephemeral container has in common with others.",
  containerFields,
);

export const ephemeralContainer = v1(
  "EphemeralContainer",
  "A container put into a running pod to look into it.",
  {
    ephemeralContainerCommon: inline(
      1,
      ephemeralContainerCommon,
      "What it has in common with other containers.",
    ),
    targetContainerName: value(2, string, "Container whose processes it sees."),
  },
);

/** An ephemeral container has these fields, too. */
export type Container = Infer<typeof container>;
export type EphemeralContainer = Infer<typeof ephemeralContainer>;
