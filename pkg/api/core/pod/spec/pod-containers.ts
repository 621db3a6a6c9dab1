/** Iteration over the containers of a pod. */
import type { Path } from "#schema";
import type { Container } from "../container/containers.ts";
import type { PodSpec } from "./pod-spec.ts";

/** Visits all containers with their paths, in Kubernetes' order. */
export function eachContainer(
  spec: PodSpec,
  path: Path,
  visit: (container: Container, path: Path) => void,
): void {
  for (const field of ["initContainers", "containers", "ephemeralContainers"] as const) {
    for (const [index, container] of (spec[field] ?? []).entries()) {
      visit(container, path.child(field).index(index));
    }
  }
}

/** All containers, in the order of `eachContainer`. */
export function allContainers(spec: PodSpec): readonly Container[] {
  const { initContainers, containers, ephemeralContainers } = spec;
  return [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])];
}
