/** Structs of security contexts. */
import { required, bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const capabilities = v1(
  "Capabilities",
  "POSIX capabilities to add to or drop from those granted by the container runtime.",
  {
    add: value(
      1,
      list(named("v1.Capability")),
      "Capabilities to add, without the prefix CAP_. ALL adds all of them.",
      {
        listType: "atomic",
      },
    ),
    drop: value(
      2,
      list(named("v1.Capability")),
      "Capabilities to drop, without the prefix CAP_. ALL drops all of them.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const seLinuxOptions = v1("SELinuxOptions", "SELinux context of a process.", {
  user: value(1, string, "SELinux user of the context."),
  role: value(2, string, "SELinux role of the context."),
  type: value(3, string, "SELinux type of the context."),
  level: value(4, string, "SELinux level of the context."),
});

export const windowsSecurityContextOptions = v1(
  "WindowsSecurityContextOptions",
  "Windows-specific security settings. Must be unset if spec.os.name is linux.",
  {
    gmsaCredentialSpecName: pointer(1, string, "Name of the GMSA credential spec."),
    gmsaCredentialSpec: pointer(
      2,
      string,
      "Contents of the GMSA credential spec, normally inlined by the GMSA admission webhook. " +
        "At most 64 KiB.",
    ),
    runAsUserName: pointer(
      3,
      string,
      "Windows user name to run the entry point as, for example `domain\\user`. Defaults to " +
        "the user specified in the image.",
    ),
    hostProcess: pointer(
      4,
      bool,
      "Whether to run as a HostProcess container. All containers of a pod must agree, and " +
        "hostNetwork must then be true. Defaults to false.",
    ),
  },
);

const profileUnion = [
  { discriminator: "type", members: { localhostProfile: "LocalhostProfile" } },
] as const;

export const seccompProfile = v1(
  "SeccompProfile",
  "Seccomp profile of a pod or container.",
  {
    type: required(
      1,
      named("v1.SeccompProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
      "Kind of profile: one of Unconfined (no profile), RuntimeDefault (default profile of the " +
        "container runtime), Localhost (file on the node).",
    ),
    localhostProfile: pointer(
      2,
      string,
      "Path of the profile file, relative to the kubelet's seccomp directory. Required for " +
        "Localhost, and not allowed otherwise.",
    ),
  },
  { unions: profileUnion },
);

export const appArmorProfile = v1(
  "AppArmorProfile",
  "AppArmor profile of a pod or container.",
  {
    type: required(
      1,
      named("v1.AppArmorProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
      "Kind of profile: one of Unconfined (no AppArmor), RuntimeDefault (default profile of " +
        "the container runtime), Localhost (profile loaded on the node).",
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
  "Security options of a container. A field that is also in PodSecurityContext takes " +
    "precedence over it.",
  {
    capabilities: pointer(
      1,
      capabilities,
      "POSIX capabilities to add or drop. Defaults to the set granted by the container " +
        "runtime. Linux only.",
    ),
    privileged: pointer(
      2,
      bool,
      "Whether the container runs in privileged mode, which is essentially root on the host. " +
        "Defaults to false. Linux only.",
    ),
    seLinuxOptions: pointer(
      3,
      seLinuxOptions,
      "SELinux context of the container. If absent, the container runtime allocates a random " +
        "one. Linux only.",
    ),
    windowsOptions: pointer(
      10,
      windowsSecurityContextOptions,
      "Windows-specific settings. Windows only.",
    ),
    runAsUser: pointer(
      4,
      int64,
      "UID to run the entry point as. Defaults to the user specified in the image. Linux only.",
    ),
    runAsGroup: pointer(
      8,
      int64,
      "GID to run the entry point as. Defaults to that of the container runtime. Linux only.",
    ),
    runAsNonRoot: pointer(
      5,
      bool,
      "Whether the kubelet must refuse to start the container as UID 0 (root). Defaults to false.",
    ),
    readOnlyRootFilesystem: pointer(
      6,
      bool,
      "Whether the root filesystem of the container is read-only. Defaults to false. Linux only.",
    ),
    allowPrivilegeEscalation: pointer(
      7,
      bool,
      "Whether processes can gain privileges that their parent lacks; false sets no_new_privs. " +
        "Always true for privileged containers and with CAP_SYS_ADMIN. Linux only.",
    ),
    procMount: pointer(
      9,
      named("v1.ProcMountType", "Default", "Unmasked"),
      "Type of proc mount: one of Default (the runtime masks some paths and makes others " +
        "read-only), Unmasked (requires hostUsers false). Behaves as Default when absent. " +
        "Linux only. Beta: feature gate ProcMountType.",
    ),
    seccompProfile: pointer(11, seccompProfile, "Seccomp profile of the container. Linux only."),
    appArmorProfile: pointer(12, appArmorProfile, "AppArmor profile of the container. Linux only."),
  },
);

export const sysctl = v1("Sysctl", "Namespaced kernel parameter (sysctl) of a pod.", {
  name: required(1, string, "Name of the sysctl, with `.` or `/` as separator."),
  value: required(2, string, "Value of the sysctl, as a string."),
});

export const podSecurityContext = v1(
  "PodSecurityContext",
  "Pod-level security attributes and defaults for the containers of the pod. The same field in " +
    "the SecurityContext of a container takes precedence.",
  {
    seLinuxOptions: pointer(
      1,
      seLinuxOptions,
      "SELinux context of all containers. If absent, the container runtime allocates a random " +
        "one for each container. Linux only.",
    ),
    windowsOptions: pointer(
      8,
      windowsSecurityContextOptions,
      "Windows-specific settings. Windows only.",
    ),
    runAsUser: pointer(
      2,
      int64,
      "UID to run the entry points of all containers as. Defaults to the user specified in the " +
        "image. Linux only.",
    ),
    runAsGroup: pointer(
      6,
      int64,
      "GID to run the entry points of all containers as. Defaults to that of the container " +
        "runtime. Linux only.",
    ),
    runAsNonRoot: pointer(
      3,
      bool,
      "Whether the kubelet must refuse to start containers of the pod as UID 0 (root). " +
        "Defaults to false.",
    ),
    supplementalGroups: value(
      4,
      list(int64),
      "Supplementary groups of the first process of each container, in addition to its primary " +
        "group and fsGroup. Linux only.",
      { listType: "atomic" },
    ),
    supplementalGroupsPolicy: pointer(
      12,
      named("v1.SupplementalGroupsPolicy", "Merge", "Strict"),
      "How the supplementary groups are calculated: one of Merge (includes those of the " +
        "image's /etc/group), Strict (only those of the pod). Behaves as Merge when absent. " +
        "Linux only. Beta: feature gate SupplementalGroupsPolicy.",
    ),
    fsGroup: pointer(
      5,
      int64,
      "Supplementary group of all containers, which also owns the volumes that support " +
        "ownership management and the new files in them. Linux only.",
    ),
    sysctls: value(
      7,
      list(sysctl),
      "Namespaced sysctls of the pod. The pod can fail to start if the node does not support " +
        "or allow one. Linux only.",
      { listType: "atomic" },
    ),
    fsGroupChangePolicy: pointer(
      9,
      named("v1.PodFSGroupChangePolicy", "OnRootMismatch", "Always"),
      "When to apply fsGroup to the ownership and permissions of a volume: one of " +
        "OnRootMismatch (only if those of its root do not match), Always. Behaves as Always " +
        "when absent. Linux only.",
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
      "How the SELinux context is applied to volumes: one of Recursive (relabel all files), " +
        "MountOption (mount with the context, where possible; requires the feature gate " +
        "SELinuxMount). If absent, volumes with access mode ReadWriteOncePod are mounted with " +
        "the context, and others relabeled. Linux only. Beta: feature gate SELinuxChangePolicy.",
      { openApi: { enum: false } },
    ),
  },
);
