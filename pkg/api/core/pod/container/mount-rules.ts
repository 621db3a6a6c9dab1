/** Validation of volume mounts and devices. */
import type { Path, Problems } from "#schema";
import type { Container } from "./containers.ts";
import { checkDescendingPath } from "../../shared/path-rules.ts";
import type { Volumes } from "../../volume/pod-volume-rules.ts";

type Mount = NonNullable<Container["volumeMounts"]>[number];
type Device = NonNullable<Container["volumeDevices"]>[number];

interface MountContext {
  readonly container: Container;
  readonly volumes: Volumes;
  readonly problems: Problems;
}

/** Validates volumeMounts; some causes contain the path of the list, as in Kubernetes. */
export function checkMounts(path: Path, { container, volumes, problems }: MountContext): void {
  if (container.volumeMounts === undefined) return;
  const devices = container.volumeDevices ?? [];
  const deviceNames = new Set(devices.map(({ name }) => name));
  const devicePaths = new Set(devices.map(({ devicePath }) => devicePath));
  const taken = new Set<string>();
  for (const [index, mount] of container.volumeMounts.entries()) {
    const { name, mountPath } = mount;
    const itemPath = path.index(index);
    if (name === "") problems.required(itemPath.child("name"));
    if (!volumes.has(name)) problems.notFound(itemPath.child("name"), name);
    if (mountPath === "") problems.required(itemPath.child("mountPath"));
    if (taken.has(mountPath))
      problems.invalid(itemPath.child("mountPath"), mountPath, uniqueMessage);
    taken.add(mountPath);
    if (deviceNames.has(name)) {
      problems.invalid(itemPath.child("name"), name, "must not already exist in volumeDevices");
    }
    if (devicePaths.has(mountPath)) {
      const detail = "must not already exist as a path in volumeDevices";
      problems.invalid(itemPath.child("mountPath"), mountPath, detail);
    }
    checkSubPaths(mount, { path, place: itemPath, problems });
    checkPropagation(mount, container, { path, problems });
    checkRecursion(mount, path.child("recursiveReadOnly"), problems);
  }
}

const uniqueMessage = "must be unique";

function checkSubPaths(
  { subPath, subPathExpr }: Mount,
  { path, place, problems }: { readonly path: Path; readonly place: Path; problems: Problems },
): void {
  if (subPath) checkDescendingPath(subPath, path.child("subPath"), problems);
  if (!subPathExpr) return;
  if (subPath) {
    const detail = "subPathExpr and subPath are mutually exclusive";
    problems.invalid(place.child("subPathExpr"), subPathExpr, detail);
  }
  checkDescendingPath(subPathExpr, path.child("subPathExpr"), problems);
}

function checkPropagation(
  { mountPropagation: mode }: Mount,
  container: Container,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  if (mode === undefined) return;
  const modes = ["Bidirectional", "HostToContainer", "None"];
  const mountPropagationPath = path.child("mountPropagation");
  if (!modes.includes(mode)) problems.notSupported(mountPropagationPath, mode, modes);
  if (mode !== "Bidirectional" || container.securityContext?.privileged) return;
  const detail = "Bidirectional mount propagation is available only to privileged containers";
  problems.forbidden(mountPropagationPath, detail);
}

function checkRecursion(
  { recursiveReadOnly: mode, readOnly, mountPropagation }: Mount,
  path: Path,
  problems: Problems,
): void {
  if (mode === undefined || mode === "Disabled") return;
  if (mode !== "Enabled" && mode !== "IfPossible") {
    return problems.notSupported(path, mode, ["Disabled", "Enabled", "IfPossible"]);
  }
  if (!readOnly) problems.forbidden(path, "may only be specified when readOnly is true");
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    problems.forbidden(path, detail);
  }
}

export function checkDevices(path: Path, { container, volumes, problems }: MountContext): void {
  if (container.volumeDevices === undefined) return;
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounts = container.volumeMounts ?? [];
  const mountNames = new Set(mounts.map(({ name }) => name));
  const mountPaths = new Set(mounts.map(({ mountPath }) => mountPath));
  for (const [index, device] of container.volumeDevices.entries()) {
    const { name, devicePath } = device;
    const itemPath = path.index(index);
    checkDeviceName(device, itemPath.child("name"), { names, volumes, problems });
    const devicePathField = itemPath.child("devicePath");
    if (devicePath === "") problems.required(devicePathField);
    if (paths.has(devicePath)) problems.invalid(devicePathField, devicePath, uniqueMessage);
    if (devicePath.split("/").includes("..")) {
      problems.invalid(devicePathField, devicePath, "can not contain backsteps ('..')");
    } else paths.add(devicePath);
    if (mountNames.has(name)) {
      problems.invalid(itemPath.child("name"), name, "must not already exist in volumeMounts");
    }
    if (mountPaths.has(devicePath)) {
      problems.invalid(
        devicePathField,
        devicePath,
        "must not already exist as a path in volumeMounts",
      );
    }
    if (name !== "") names.add(name);
  }
}

function checkDeviceName(
  { name }: Device,
  path: Path,
  {
    names,
    volumes,
    problems,
  }: { readonly names: ReadonlySet<string>; readonly volumes: Volumes; problems: Problems },
): void {
  const volume = volumes.get(name);
  if (name === "") problems.required(path);
  if (names.has(name)) problems.invalid(path, name, uniqueMessage);
  if (volume === undefined) problems.notFound(path, name);
  else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
    const types = "PersistentVolumeClaim or Ephemeral";
    problems.invalid(path, name, `can only use volume source type of ${types} for block mode`);
  }
}
