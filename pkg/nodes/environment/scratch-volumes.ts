/** The emptyDir volumes of which it is known what they hold: one container alone writes to each. */
import { posix } from "node:path";
import { type Container, containersOf, type Pod, type VolumeMount } from "#kinds";
import type { ScratchFiles } from "../pod/container-run.ts";

/** Characters of paths and texts that are kept of one container. */
const mostCharacters = 1 << 16;

/** The mounts of emptyDir volumes that no other mount of the pod shares. */
export function scratchMounts(pod: Pod, container: Container): ReadonlySet<VolumeMount> {
  const { volumes = [] } = pod.spec ?? {};
  const all = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts);
  const isScratch = ({ name, subPath = "", readOnly = false }: VolumeMount) =>
    volumes.some((each) => each.name === name && each.emptyDir !== undefined) &&
    all.filter((each) => each.name === name).length === 1 &&
    subPath === "" &&
    !readOnly;
  return new Set(container.volumeMounts?.filter(isScratch));
}

/** Files of one volume by their paths in it. */
export function filesOf(
  scratch: ScratchFiles,
  volume: string,
): readonly (readonly [string, string])[] {
  const prefix = `${volume}/`;
  return [...scratch]
    .filter(([path]) => path.startsWith(prefix))
    .map(([path, text]) => [path.slice(prefix.length), text]);
}

/** What a command leaves in its volumes; undefined = more than is kept. */
export function leftIn(
  mounts: ReadonlySet<VolumeMount>,
  textsAt: (path: string) => readonly (readonly [string, string])[],
): ScratchFiles | undefined {
  const left = new Map<string, string>();
  let characters = 0;
  for (const { name, mountPath } of mounts) {
    const folder = posix.resolve("/", mountPath);
    for (const [path, text] of textsAt(folder)) {
      characters += path.length + text.length;
      left.set(`${name}/${posix.relative(folder, path)}`, text);
    }
  }
  return characters > mostCharacters ? undefined : left;
}
