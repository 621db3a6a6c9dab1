/** Iteration over the containers of a pod. */
import type { Path } from "#schema";
import type { Container } from "../container/containers.ts";
import type { PodSpec } from "./pod-spec.ts";

const containerFields = ["initContainers", "containers", "ephemeralContainers"] as const;

/** Visits all containers with their paths, in Kubernetes' order. */
export function eachContainer(
  spec: PodSpec,
  path: Path,
  visit: (container: Container, path: Path) => void,
): void {
  for (const field of containerFields) {
    const containers = spec[field];
    if (containers === undefined || containers === null) continue;
    const fieldPath = path.child(field);
    for (let index = 0; index < containers.length; index++) {
      visit(containers[index] as Container, fieldPath.index(index));
    }
  }
}

/** All containers, in the order of `eachContainer`. */
export function allContainers(spec: PodSpec): readonly Container[] {
  const { initContainers, containers, ephemeralContainers } = spec;
  if (initContainers === undefined && ephemeralContainers === undefined) return containers ?? [];
  return [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])];
}
