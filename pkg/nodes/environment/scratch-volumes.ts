/** Contents of volumes to which simulated containers write. */
import { posix } from "node:path";
import { setBounded } from "#base";
import { type Container, containersOf, type Pod, type Volume, type VolumeMount } from "#kinds";
import type { ScratchFiles } from "../pod/container-run.ts";

type Texts = readonly (readonly [string, string])[];

/** Maximum number of characters of paths and texts per container, per folder, and of all folders. */
const maxCharacters = 1 << 16;
const maxFolders = 1_000;

/**
 * Files that containers write to emptyDir volumes which only they mount, for their next run, and to hostPath
 * folders of their node, for containers that start later. Disks of nodes are initially empty.
 */
export class ScratchVolumes {
  /** Files by path, by node and folder. */
  private readonly folders = new Map<string, Texts>();

  hasAny(pod: Pod, container: Container): boolean {
    return scratchMounts(pod, container).size > 0;
  }

  /** Files at a container's start: those of its previous run, and those on its node. */
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
   * Stores the files that a command has written.
   * @param found files at its start
   * @returns files of emptyDir volumes; undefined = limit exceeded
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
      if (characters > maxCharacters) return undefined;
      if (isHostFolder(volume)) {
        this.change(folderOf(pod, volume), { found: filesOf(found, volume.name), left: texts });
      } else {
        for (const [path, text] of texts) files.set(`${volume.name}/${path}`, text);
      }
    }
    return files;
  }

  /** Applies the changes of one container, since others may have changed the folder meanwhile. */
  private change(
    folder: string,
    { found, left }: { readonly found: Texts; readonly left: Texts },
  ): void {
    const files = new Map(this.folders.get(folder));
    for (const [path] of found) files.delete(path);
    for (const [path, text] of left) files.set(path, text);
    const texts = [...files];
    if (charactersOf(texts) > maxCharacters) return;
    setBounded(this.folders, [folder, texts], maxFolders);
  }
}

/** Mounts of emptyDir volumes that no other mount shares, and of hostPath folders. */
export function scratchMounts(pod: Pod, container: Container): ReadonlyMap<VolumeMount, Volume> {
  const found = new Map<VolumeMount, Volume>();
  const all = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts);
  for (const mount of container.volumeMounts ?? []) {
    const { name, subPath = "", subPathExpr = "", readOnly = false } = mount;
    if (subPath + subPathExpr !== "" || readOnly) continue;
    const volume = pod.spec?.volumes?.find((each) => each.name === name);
    const isAlone = all.filter((each) => each.name === name).length === 1;
    if (volume === undefined || !isAlone) continue;
    if (volume.emptyDir !== undefined || isHostFolder(volume)) found.set(mount, volume);
  }
  return found;
}

/** Files of one volume by path in the volume. */
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
