/** Volumes to which containers write, and of which it is known what they hold. */
import { posix } from "node:path";
import { setBounded } from "#base";
import { type Container, containersOf, type Pod, type Volume, type VolumeMount } from "#kinds";
import type { ScratchFiles } from "../pod/container-run.ts";

type Texts = readonly (readonly [string, string])[];

/** Characters of paths and texts that one container or folder may have, and folders of all nodes. */
const mostCharacters = 1 << 16;
const mostFolders = 1_000;

/**
 * What containers leave in emptyDir volumes that they alone mount, for their next run, and in folders of
 * their node, for containers that start later. The disks of nodes are empty at first.
 */
export class ScratchVolumes {
  /** Texts of files by their paths in a folder, by node and folder. */
  private readonly folders = new Map<string, Texts>();

  hasAny(pod: Pod, container: Container): boolean {
    return scratchMounts(pod, container).size > 0;
  }

  /** The files that a container finds: those that it has left itself, and those on its node. */
  filesAtStart(pod: Pod, container: Container, left: ScratchFiles): ScratchFiles {
    const folders = [...scratchMounts(pod, container).values()].filter(isHostFolder);
    if (folders.length === 0) return left;
    const files = new Map(left);
    for (const volume of folders) {
      const texts = this.folders.get(folderOf(pod, volume)) ?? [];
      for (const [path, text] of texts) files.set(`${volume.name}/${path}`, text);
    }
    return files;
  }

  /**
   * Keeps what a command leaves.
   * @param found the files that it found
   * @returns files of emptyDir volumes; undefined = more than is kept
   */
  keep(
    pod: Pod,
    container: Container,
    { found, textsAt }: { readonly found: ScratchFiles; readonly textsAt: (path: string) => Texts },
  ): ScratchFiles | undefined {
    const files = new Map<string, string>();
    let characters = 0;
    for (const [{ mountPath }, volume] of scratchMounts(pod, container)) {
      const folder = posix.resolve("/", mountPath);
      const texts = textsAt(folder).map(
        ([path, text]) => [posix.relative(folder, path), text] as const,
      );
      characters += charactersOf(texts);
      if (characters > mostCharacters) return undefined;
      if (isHostFolder(volume)) {
        this.change(folderOf(pod, volume), { found: filesOf(found, volume.name), left: texts });
      } else {
        for (const [path, text] of texts) files.set(`${volume.name}/${path}`, text);
      }
    }
    return files;
  }

  /** Makes the changes of one container, since others may have made theirs meanwhile. */
  private change(
    folder: string,
    { found, left }: { readonly found: Texts; readonly left: Texts },
  ): void {
    const files = new Map(this.folders.get(folder));
    for (const [path] of found) files.delete(path);
    for (const [path, text] of left) files.set(path, text);
    const texts = [...files];
    if (charactersOf(texts) > mostCharacters) return;
    setBounded(this.folders, [folder, texts], mostFolders);
  }
}

/** Mounts of emptyDirs that no other mount of the pod shares, and of folders that nodes make. */
export function scratchMounts(pod: Pod, container: Container): ReadonlyMap<VolumeMount, Volume> {
  const found = new Map<VolumeMount, Volume>();
  const all = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts);
  for (const mount of container.volumeMounts ?? []) {
    const { name, subPath = "", readOnly = false } = mount;
    if (subPath !== "" || readOnly) continue;
    const volume = pod.spec?.volumes?.find((each) => each.name === name);
    const isAlone = all.filter((each) => each.name === name).length === 1;
    if (volume === undefined || !isAlone) continue;
    if (volume.emptyDir !== undefined || isHostFolder(volume)) found.set(mount, volume);
  }
  return found;
}

/** Files of one volume by their paths in it. */
export function filesOf(scratch: ScratchFiles, volume: string): Texts {
  const prefix = `${volume}/`;
  return [...scratch]
    .filter(([path]) => path.startsWith(prefix))
    .map(([path, text]) => [path.slice(prefix.length), text]);
}

function charactersOf(texts: Texts): number {
  return texts.reduce((sum, [path, text]) => sum + path.length + text.length, 0);
}

function isHostFolder({ hostPath }: Volume): boolean {
  return hostPath?.type === "DirectoryOrCreate";
}

function folderOf({ spec }: Pod, { hostPath }: Volume): string {
  return `${spec?.nodeName ?? ""}:${posix.resolve("/", hostPath?.path ?? "")}`;
}
