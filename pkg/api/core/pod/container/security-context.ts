/** What processes of a pod may do. */
import { required, bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const capabilities = v1("Capabilities", "Capabilities given and taken, by name.", {
  add: value(1, list(string), "Capabilities given.", { listType: "atomic" }),
  drop: value(2, list(string), "Capabilities taken.", { listType: "atomic" }),
});

export const seLinuxOptions = v1("SELinuxOptions", "A label of SELinux.", {
  user: value(1, string, "User part."),
  role: value(2, string, "Role part."),
  type: value(3, string, "Type part."),
  level: value(4, string, "Level part."),
});

export const windowsSecurityContextOptions = v1(
  "WindowsSecurityContextOptions",
  "Settings for Windows.",
  {
    gmsaCredentialSpecName: pointer(1, string, "Name of the GMSA credential spec."),
    gmsaCredentialSpec: pointer(2, string, "The GMSA credential spec itself."),
    runAsUserName: pointer(3, string, "User that the entry point runs as."),
    hostProcess: pointer(
      4,
      bool,
      "Run on the host itself; then so must all containers of the pod.",
    ),
  },
);

export const seccompProfile = v1("SeccompProfile", "Which system calls are allowed.", {
  type: required(
    1,
    named("v1.SeccompProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
    "Unconfined, RuntimeDefault or Localhost.",
  ),
  localhostProfile: pointer(
    2,
    string,
    "Path of the profile below the node's profile folder, for Localhost.",
  ),
});

export const appArmorProfile = v1("AppArmorProfile", "Which AppArmor profile confines a process.", {
  type: required(
    1,
    named("v1.AppArmorProfileType", "Unconfined", "RuntimeDefault", "Localhost"),
    "Unconfined, RuntimeDefault or Localhost.",
  ),
  localhostProfile: pointer(2, string, "Name of a profile loaded on the node, for Localhost."),
});

export const securityContext = v1(
  "SecurityContext",
  "Settings for one container; they come before the pod's.",
  {
    capabilities: pointer(1, capabilities, "Capabilities given and taken."),
    privileged: pointer(2, bool, "Run with all rights of the host's root."),
    seLinuxOptions: pointer(3, seLinuxOptions, "Label of SELinux."),
    windowsOptions: pointer(10, windowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: pointer(4, int64, "User ID of the entry point."),
    runAsGroup: pointer(8, int64, "Group ID of the entry point."),
    runAsNonRoot: pointer(5, bool, "Refuse to start as user 0."),
    readOnlyRootFilesystem: pointer(6, bool, "Mount the root file system read-only."),
    allowPrivilegeEscalation: pointer(
      7,
      bool,
      "Whether a process may gain more rights than its parent.",
    ),
    procMount: pointer(9, named("v1.ProcMountType", "Default", "Unmasked"), "Default or Unmasked."),
    seccompProfile: pointer(11, seccompProfile, "System calls that are allowed."),
    appArmorProfile: pointer(12, appArmorProfile, "AppArmor profile."),
  },
);

export const sysctl = v1("Sysctl", "A kernel parameter.", {
  name: required(1, string, "Name of the parameter."),
  value: required(2, string, "Value of the parameter."),
});

export const podSecurityContext = v1(
  "PodSecurityContext",
  "Settings for all containers of a pod.",
  {
    seLinuxOptions: pointer(1, seLinuxOptions, "Label of SELinux."),
    windowsOptions: pointer(8, windowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: pointer(2, int64, "User ID of entry points."),
    runAsGroup: pointer(6, int64, "Group ID of entry points."),
    runAsNonRoot: pointer(3, bool, "Refuse to start as user 0."),
    supplementalGroups: value(
      4,
      list(int64),
      "Further groups of the first process of each container.",
      { listType: "atomic" },
    ),
    supplementalGroupsPolicy: pointer(
      12,
      named("v1.SupplementalGroupsPolicy", "Merge", "Strict"),
      "Merge, which adds the image's groups, or Strict.",
    ),
    fsGroup: pointer(5, int64, "Group that owns the volumes."),
    sysctls: value(7, list(sysctl), "Kernel parameters of the pod.", { listType: "atomic" }),
    fsGroupChangePolicy: pointer(
      9,
      named("v1.PodFSGroupChangePolicy", "OnRootMismatch", "Always"),
      "When volumes change owner: Always or OnRootMismatch.",
    ),
    seccompProfile: pointer(10, seccompProfile, "System calls that are allowed."),
    appArmorProfile: pointer(11, appArmorProfile, "AppArmor profile."),
    seLinuxChangePolicy: pointer(
      13,
      named("v1.PodSELinuxChangePolicy", "Recursive", "MountOption"),
      "How volumes get their label: MountOption or Recursive.",
    ),
  },
);
