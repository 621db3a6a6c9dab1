/** What processes of a pod may do. */
import { always, bool, int64, list, named, optional, plain, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const capabilities = v1("Capabilities", "Capabilities given and taken, by name.", {
  add: plain(1, list(string), "Capabilities given.", { listType: "atomic" }),
  drop: plain(2, list(string), "Capabilities taken.", { listType: "atomic" }),
});

export const seLinuxOptions = v1("SELinuxOptions", "A label of SELinux.", {
  user: plain(1, string, "User part."),
  role: plain(2, string, "Role part."),
  type: plain(3, string, "Type part."),
  level: plain(4, string, "Level part."),
});

export const windowsSecurityContextOptions = v1(
  "WindowsSecurityContextOptions",
  "Settings for Windows.",
  {
    gmsaCredentialSpecName: optional(1, string, "Name of the GMSA credential spec."),
    gmsaCredentialSpec: optional(2, string, "The GMSA credential spec itself."),
    runAsUserName: optional(3, string, "User that the entry point runs as."),
    hostProcess: optional(
      4,
      bool,
      "Run on the host itself; then so must all containers of the pod.",
    ),
  },
);

export const seccompProfile = v1("SeccompProfile", "Which system calls are allowed.", {
  type: always(
    1,
    named("v1.SeccompProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
    "Unconfined, RuntimeDefault or Localhost.",
  ),
  localhostProfile: optional(
    2,
    string,
    "Path of the profile below the node's profile folder, for Localhost.",
  ),
});

export const appArmorProfile = v1("AppArmorProfile", "Which AppArmor profile confines a process.", {
  type: always(
    1,
    named("v1.AppArmorProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
    "Unconfined, RuntimeDefault or Localhost.",
  ),
  localhostProfile: optional(2, string, "Name of a profile loaded on the node, for Localhost."),
});

export const securityContext = v1(
  "SecurityContext",
  "Settings for one container; they come before the pod's.",
  {
    capabilities: optional(1, capabilities, "Capabilities given and taken."),
    privileged: optional(2, bool, "Run with all rights of the host's root."),
    seLinuxOptions: optional(3, seLinuxOptions, "Label of SELinux."),
    windowsOptions: optional(10, windowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: optional(4, int64, "User ID of the entry point."),
    runAsGroup: optional(8, int64, "Group ID of the entry point."),
    runAsNonRoot: optional(5, bool, "Refuse to start as user 0."),
    readOnlyRootFilesystem: optional(6, bool, "Mount the root file system read-only."),
    allowPrivilegeEscalation: optional(
      7,
      bool,
      "Whether a process may gain more rights than its parent.",
    ),
    procMount: optional(
      9,
      named("v1.ProcMountType", "Default", "Unmasked"),
      "Default or Unmasked.",
    ),
    seccompProfile: optional(11, seccompProfile, "System calls that are allowed."),
    appArmorProfile: optional(12, appArmorProfile, "AppArmor profile."),
  },
);

export const sysctl = v1("Sysctl", "A kernel parameter.", {
  name: always(1, string, "Name of the parameter."),
  value: always(2, string, "Value of the parameter."),
});

export const podSecurityContext = v1(
  "PodSecurityContext",
  "Settings for all containers of a pod.",
  {
    seLinuxOptions: optional(1, seLinuxOptions, "Label of SELinux."),
    windowsOptions: optional(8, windowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: optional(2, int64, "User ID of entry points."),
    runAsGroup: optional(6, int64, "Group ID of entry points."),
    runAsNonRoot: optional(3, bool, "Refuse to start as user 0."),
    supplementalGroups: plain(
      4,
      list(int64),
      "Further groups of the first process of each container.",
      { listType: "atomic" },
    ),
    supplementalGroupsPolicy: optional(
      12,
      named("v1.SupplementalGroupsPolicy", "Merge", "Strict"),
      "Merge, which adds the image's groups, or Strict.",
    ),
    fsGroup: optional(5, int64, "Group that owns the volumes."),
    sysctls: plain(7, list(sysctl), "Kernel parameters of the pod.", { listType: "atomic" }),
    fsGroupChangePolicy: optional(
      9,
      named("v1.PodFSGroupChangePolicy", "OnRootMismatch", "Always"),
      "When volumes change owner: Always or OnRootMismatch.",
    ),
    seccompProfile: optional(10, seccompProfile, "System calls that are allowed."),
    appArmorProfile: optional(11, appArmorProfile, "AppArmor profile."),
    seLinuxChangePolicy: optional(
      13,
      named("v1.PodSELinuxChangePolicy", "Recursive", "MountOption"),
      "How volumes get their label: MountOption or Recursive.",
    ),
  },
);
