/** Structs of security contexts. */
import { required, bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const capabilities = v1(
  "Capabilities",
  "Linux capabilities added to or removed from the runtime's default set.",
  {
    add: value(1, list(named("v1.Capability")), "Capabilities to add, without the prefix CAP_.", {
      listType: "atomic",
    }),
    drop: value(
      2,
      list(named("v1.Capability")),
      "Capabilities to remove. ALL removes all of them.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const seLinuxOptions = v1("SELinuxOptions", "SELinux label of a process.", {
  user: value(1, string, "SELinux user of the label."),
  role: value(2, string, "SELinux role of the label."),
  type: value(3, string, "SELinux type of the label."),
  level: value(4, string, "SELinux level of the label."),
});

export const windowsSecurityContextOptions = v1(
  "WindowsSecurityContextOptions",
  "Security settings for Windows containers. Must be absent when spec.os.name is linux.",
  {
    gmsaCredentialSpecName: pointer(1, string, "Name of the GMSA credential specification to use."),
    gmsaCredentialSpec: pointer(
      2,
      string,
      "Contents of the GMSA credential specification, normally filled in by a webhook. At " +
        "most 64 KiB.",
    ),
    runAsUserName: pointer(
      3,
      string,
      "Windows user that runs the entry point, for example `domain\\user`. Defaults to the " +
        "user of the image.",
    ),
    hostProcess: pointer(
      4,
      bool,
      "Whether to run as a host process. All containers of the pod must agree, and " +
        "hostNetwork must be true. Defaults to false.",
    ),
  },
);

const profileUnion = [
  { discriminator: "type", members: { localhostProfile: "LocalhostProfile" } },
] as const;

export const seccompProfile = v1(
  "SeccompProfile",
  "Seccomp profile that filters system calls.",
  {
    type: required(
      1,
      named("v1.SeccompProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
      "One of Unconfined (no filter), RuntimeDefault (profile of the runtime), Localhost " +
        "(file on the node).",
    ),
    localhostProfile: pointer(
      2,
      string,
      "Path of the profile, relative to the kubelet's seccomp directory. Required for " +
        "Localhost, and not allowed otherwise.",
    ),
  },
  { unions: profileUnion },
);

export const appArmorProfile = v1(
  "AppArmorProfile",
  "AppArmor profile that confines processes.",
  {
    type: required(
      1,
      named("v1.AppArmorProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
      "One of Unconfined (no profile), RuntimeDefault (profile of the runtime), Localhost " +
        "(profile loaded on the node).",
    ),
    localhostProfile: pointer(
      2,
      string,
      "Name of a profile that is loaded on the node. Required for Localhost, and not allowed " +
        "otherwise.",
    ),
  },
  { unions: profileUnion },
);

export const securityContext = v1(
  "SecurityContext",
  "Security settings of one container. Fields that are also in PodSecurityContext take " +
    "precedence over it.",
  {
    capabilities: pointer(
      1,
      capabilities,
      "Linux capabilities to add or drop. Defaults to the runtime's set. Linux only.",
    ),
    privileged: pointer(
      2,
      bool,
      "Whether the container runs with the privileges of root on the node. Defaults to " +
        "false. Linux only.",
    ),
    seLinuxOptions: pointer(
      3,
      seLinuxOptions,
      "SELinux label of the container. By default the runtime allocates a random one. Linux only.",
    ),
    windowsOptions: pointer(10, windowsSecurityContextOptions, "Settings for Windows containers."),
    runAsUser: pointer(
      4,
      int64,
      "User ID of the entry point. Defaults to the user of the image. Linux only.",
    ),
    runAsGroup: pointer(
      8,
      int64,
      "Primary group ID of the entry point. Defaults to that of the runtime. Linux only.",
    ),
    runAsNonRoot: pointer(
      5,
      bool,
      "Whether the kubelet refuses to start the container as user 0. Only checked at the " +
        "start, against the image if runAsUser is absent. Defaults to false.",
    ),
    readOnlyRootFilesystem: pointer(
      6,
      bool,
      "Whether the root filesystem of the container is read-only. Defaults to false. Linux only.",
    ),
    allowPrivilegeEscalation: pointer(
      7,
      bool,
      "Whether a process may gain more privileges than its parent (no_new_privs is then " +
        "unset). Always true for privileged containers and with CAP_SYS_ADMIN. Linux only.",
    ),
    procMount: pointer(
      9,
      named("v1.ProcMountType", "Default", "Unmasked"),
      "How /proc is mounted: one of Default (some paths masked and read-only), Unmasked " +
        "(needs hostUsers false). Behaves as Default when absent. Linux only. Beta: feature " +
        "gate ProcMountType.",
    ),
    seccompProfile: pointer(11, seccompProfile, "Seccomp profile of the container. Linux only."),
    appArmorProfile: pointer(12, appArmorProfile, "AppArmor profile of the container. Linux only."),
  },
);

export const sysctl = v1("Sysctl", "Kernel parameter in the namespaces of a pod.", {
  name: required(1, string, "Name of the parameter, with `.` or `/` as separator."),
  value: required(2, string, "Value of the parameter as text."),
});

export const podSecurityContext = v1(
  "PodSecurityContext",
  "Security settings of a pod and defaults for its containers. The same field in the " +
    "SecurityContext of a container takes precedence.",
  {
    seLinuxOptions: pointer(
      1,
      seLinuxOptions,
      "SELinux label of all containers. By default the runtime allocates a random one for " +
        "each. Linux only.",
    ),
    windowsOptions: pointer(8, windowsSecurityContextOptions, "Settings for Windows containers."),
    runAsUser: pointer(
      2,
      int64,
      "User ID of the entry points. Defaults to the user of the image. Linux only.",
    ),
    runAsGroup: pointer(
      6,
      int64,
      "Primary group ID of the entry points. Defaults to that of the runtime. Linux only.",
    ),
    runAsNonRoot: pointer(
      3,
      bool,
      "Whether the kubelet refuses to start containers as user 0. Defaults to false.",
    ),
    supplementalGroups: value(
      4,
      list(int64),
      "Supplementary group IDs of the first process in each container, besides the primary " +
        "group and fsGroup. Linux only.",
      { listType: "atomic" },
    ),
    supplementalGroupsPolicy: pointer(
      12,
      named("v1.SupplementalGroupsPolicy", "Merge", "Strict"),
      "Whether groups from the image's /etc/group are added: one of Merge, Strict. Behaves " +
        "as Merge when absent. Linux only. Beta: feature gate SupplementalGroupsPolicy.",
    ),
    fsGroup: pointer(
      5,
      int64,
      "Group ID that owns volumes which support ownership management, and supplementary " +
        "group of every container. New files get it as well. Linux only.",
    ),
    sysctls: value(
      7,
      list(sysctl),
      "Kernel parameters to set. The pod fails to start if the node does not allow one. Linux only.",
      { listType: "atomic" },
    ),
    fsGroupChangePolicy: pointer(
      9,
      named("v1.PodFSGroupChangePolicy", "OnRootMismatch", "Always"),
      "When to change ownership and permissions of a volume to fsGroup: one of " +
        "OnRootMismatch (only if its root differs), Always. Behaves as Always when absent. " +
        "Linux only.",
    ),
    seccompProfile: pointer(10, seccompProfile, "Seccomp profile of all containers. Linux only."),
    appArmorProfile: pointer(
      11,
      appArmorProfile,
      "AppArmor profile of all containers. Linux only.",
    ),
    seLinuxChangePolicy: pointer(
      13,
      named("v1.PodSELinuxChangePolicy", "Recursive", "MountOption"),
      "How volumes get the SELinux label: one of Recursive (relabel each file), MountOption " +
        "(mount with the label, if the driver supports it). Linux only. Beta: feature gate " +
        "SELinuxChangePolicy.",
      { openApi: { enum: false } },
    ),
  },
);
