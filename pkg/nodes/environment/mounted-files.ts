import { posix } from "node:path";
import type { Container, VolumeMount } from "#kinds";
import type { InitialFile } from "../shell/container-files.ts";
import { hostOf } from "../shell/shell.ts";
import type { ScratchFiles } from "../pod/container-run.ts";
import { filesOf, scratchMounts } from "./scratch-volumes.ts";
import { type VolumeContext, volumeContents } from "./volume-contents.ts";

export interface MountedFiles {
  /** File contents by path. */
  readonly files: Readonly<Record<string, InitialFile>>;
  /** Mount paths of volumes, including empty ones. */
  readonly folders: readonly string[];
  /** Mount paths of volumes with unknown contents. */
  readonly unknownFolders: readonly string[];
}

/** Maximum number of bytes of ConfigMaps and Secrets per container. */
const maxBytes = 1 << 20;

/**
 * Contents of a container's volumes.
 * @param context.scratch files of emptyDir volumes; undefined = unknown
 */
export function mountsOf(
  container: Container,
  context: VolumeContext & { readonly scratch: ScratchFiles | undefined },
): MountedFiles {
  const { pod, scratch } = context;
  const files: Record<string, InitialFile> = { "/etc/hostname": `${hostOf(pod)}\n` };
  const folders: string[] = [];
  const unknownFolders: string[] = [];
  const own = scratchMounts(pod, container);
  let left = maxBytes;
  for (const mount of container.volumeMounts ?? []) {
    const volume = pod.spec?.volumes?.find((each) => each.name === mount.name);
    const entries = own.has(mount)
      ? scratch && filesOf(scratch, mount.name)
      : volume && volumeContents(volume, context)?.map((file) => [file.path, file] as const);
    const folder = posix.resolve("/", mount.mountPath);
    if (entries === undefined) {
      unknownFolders.push(folder);
      continue;
    }
    if (own.has(mount)) folders.push(folder);
    for (const [name, file] of entries) {
      const path = pathOf(name, mount);
      left -= typeof file === "string" ? file.length : file.data.length;
      if (path !== undefined && left >= 0) files[path] = file;
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
