/** Validation of host namespaces and of spec.os. */
import type { Path, Problems } from "#schema";
import { eachContainer } from "./pod-containers.ts";
import type { PodSpec } from "./pod-spec.ts";

/** Requires hostProcess for all containers or none, and hostNetwork with it (Windows). */
export function checkHostProcess(
  spec: PodSpec,
  path: Path,
  { allowPrivileged, problems }: { readonly allowPrivileged: boolean; problems: Problems },
): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let [total, onHost] = [0, 0];
  eachContainer(spec, path, (container, containerPath) => {
    total++;
    const containerHostProcess = container.securityContext?.windowsOptions?.hostProcess;
    if (
      ofPod !== undefined &&
      containerHostProcess !== undefined &&
      ofPod !== containerHostProcess
    ) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      const hostProcessPath = containerPath.child(
        "securityContext",
        "windowsOptions",
        "hostProcess",
      );
      problems.invalid(hostProcessPath, containerHostProcess, detail);
    }
    if (containerHostProcess ?? ofPod) onHost++;
  });
  if (onHost === 0) return;
  if (onHost !== total) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be " +
      "HostProcess containers";
    problems.invalid(path, "", detail);
  }
  if (!spec.hostNetwork) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    problems.invalid(path.child("hostNetwork"), false, detail);
  }
  if (allowPrivileged) return;
  problems.forbidden(path, "hostProcess containers are disallowed by cluster policy");
}

/** Rejects other host namespaces in a pod with a user namespace (hostUsers: false). */
export function checkHostUsers(spec: PodSpec, path: Path, problems: Problems): void {
  if (spec.hostUsers !== false) return;
  const detail = "when `hostUsers` is false";
  if (spec.hostNetwork) problems.forbidden(path.child("hostNetwork"), detail);
  // Kubernetes' spelling of the fields.
  if (spec.hostPID) problems.forbidden(path.child("HostPID"), detail);
  if (spec.hostIPC) problems.forbidden(path.child("HostIPC"), detail);
}

/** Requires hostPort to equal containerPort in the host network; pod templates may omit it. */
export function checkHostNetwork(
  spec: PodSpec,
  path: Path,
  { isPod, problems }: { readonly isPod: boolean; readonly problems: Problems },
): void {
  if (!spec.hostNetwork) return;
  for (const field of ["containers", "initContainers"] as const) {
    for (const [index, { ports }] of (spec[field] ?? []).entries()) {
      for (const [i, { hostPort = 0, containerPort }] of (ports ?? []).entries()) {
        if (hostPort === containerPort || (hostPort === 0 && !isPod)) continue;
        const hostPortPath = path
          .child(field)
          .index(index)
          .child("ports")
          .index(i)
          .child("hostPort");
        const detail = "must match `containerPort` when `hostNetwork` is true";
        problems.invalid(hostPortPath, hostPort, detail);
      }
    }
  }
}

export function checkOperatingSystem(spec: PodSpec, path: Path, problems: Problems): void {
  if (spec.os === undefined) return;
  const { name } = spec.os;
  const osPath = path.child("os");
  if (name === "") problems.required(osPath.child("name"));
  else if (name === "linux") checkLinux(spec, path, problems);
  else if (name === "windows") checkWindows(spec, path, problems);
  else problems.notSupported(osPath, name, ["linux", "windows"]);
}

function checkLinux(spec: PodSpec, path: Path, problems: Problems): void {
  const detail = "windows options cannot be set for a linux pod";
  const steps = ["securityContext", "windowsOptions"] as const;
  if (spec.securityContext?.windowsOptions) problems.forbidden(path.child(...steps), detail);
  eachContainer(spec, path, (container, containerPath) => {
    if (!container.securityContext?.windowsOptions) return;
    problems.forbidden(containerPath.child(...steps), detail);
  });
}

/** Fields forbidden for Windows pods; those of containers in the order of causes. */
const linuxFields = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

function checkWindows(spec: PodSpec, path: Path, problems: Problems): void {
  const context = spec.securityContext ?? {};
  const securityContextPath = path.child("securityContext");
  const { hostUsers, hostPID, hostIPC, shareProcessNamespace } = spec;
  const refuse = (isSet: unknown, where: Path) => {
    if (isSet) problems.forbidden(where, "cannot be set for a windows pod");
  };
  const refuseOfContext = (...fields: readonly (keyof typeof context)[]) => {
    for (const field of fields)
      refuse(context[field] !== undefined, securityContextPath.child(field));
  };
  refuseOfContext("appArmorProfile", "seLinuxOptions");
  refuse(hostUsers !== undefined, path.child("hostUsers"));
  refuse(hostPID, path.child("hostPID"));
  refuse(hostIPC, path.child("hostIPC"));
  refuseOfContext("seccompProfile", "fsGroup", "fsGroupChangePolicy");
  refuse(context.sysctls?.length, securityContextPath.child("sysctls"));
  refuse(shareProcessNamespace !== undefined, path.child("shareProcessNamespace"));
  refuseOfContext("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy");
  eachContainer(spec, path, ({ securityContext }, where) => {
    for (const field of linuxFields) {
      const isSet = securityContext?.[field] !== undefined;
      refuse(isSet, where.child("securityContext", field));
    }
  });
}
