import { posix } from "node:path";
import type { Container, FileSource, Pod, Volume, VolumeMount } from "#kinds";
import { hostOf } from "../shell/shell.ts";
import type { ScratchFiles } from "../pod/container-run.ts";
import type { ConfigObjects } from "./config-objects.ts";
import { filesOf, scratchMounts } from "./scratch-volumes.ts";

export interface MountedFiles {
  /** File contents by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Mount paths of volumes, including empty ones. */
  readonly folders: readonly string[];
  /** Mount paths of volumes with unknown contents. */
  readonly unknownFolders: readonly string[];
}

/** Maximum number of bytes of ConfigMaps and Secrets per container. */
const maxBytes = 1 << 20;

/**
 * Contents of a container's volumes; keys of ConfigMaps and Secrets are files.
 * @param options.scratch files of emptyDir volumes; undefined = unknown
 */
export function mountsOf(
  pod: Pod,
  container: Container,
  {
    objects,
    scratch,
  }: { readonly objects: ConfigObjects; readonly scratch: ScratchFiles | undefined },
): MountedFiles {
  const { namespace = "" } = pod.metadata;
  const files: Record<string, string> = { "/etc/hostname": `${hostOf(pod)}\n` };
  const folders: string[] = [];
  const unknownFolders: string[] = [];
  const own = scratchMounts(pod, container);
  let left = maxBytes;
  for (const mount of container.volumeMounts ?? []) {
    const volume = pod.spec?.volumes?.find((each) => each.name === mount.name);
    const entries = own.has(mount)
      ? scratch && filesOf(scratch, mount.name)
      : volume && entriesOf(volume, namespace, objects);
    const folder = posix.resolve("/", mount.mountPath);
    if (entries === undefined) {
      unknownFolders.push(folder);
      continue;
    }
    if (own.has(mount)) folders.push(folder);
    for (const [file, data] of entries) {
      const path = pathOf(file, mount);
      left -= data.length;
      if (path !== undefined && left >= 0) files[path] = data;
    }
  }
  return { files, folders, unknownFolders };
}

/** Path of a volume's file in the container; undefined = outside of `subPath`. */
function pathOf(file: string, { mountPath, subPath = "" }: VolumeMount): string | undefined {
  if (subPath === "") return posix.resolve("/", mountPath, file);
  if (file === subPath) return posix.resolve("/", mountPath);
  return file.startsWith(`${subPath}/`)
    ? posix.resolve("/", mountPath, file.slice(subPath.length + 1))
    : undefined;
}

/** Files of a volume by path in the volume; undefined = unsupported volume type. */
function entriesOf(
  { configMap, secret }: Volume,
  namespace: string,
  objects: ConfigObjects,
): readonly (readonly [string, string])[] | undefined {
  if (configMap !== undefined) {
    const found = objects.configMap(namespace, configMap.name ?? "");
    return selected(found?.data ?? {}, configMap);
  }
  if (secret === undefined) return undefined;
  const data = objects.secret(namespace, secret.secretName ?? "")?.data ?? {};
  const decode = (value: string) => Buffer.from(value, "base64").toString();
  return selected(data, secret).map(([path, value]) => [path, decode(value)] as const);
}

function selected(
  data: Readonly<Record<string, string>>,
  { items }: FileSource,
): readonly (readonly [string, string])[] {
  if (items === undefined) return Object.entries(data);
  return items.flatMap(({ key, path }) => {
    const value = data[key];
    return value === undefined ? [] : [[path, value] as const];
  });
}
