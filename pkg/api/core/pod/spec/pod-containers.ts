/** Walks over a pod's containers. */
import type { Path } from "#schema";
import type { Container } from "../container/containers.ts";
import type { PodSpec } from "./pod-spec.ts";

/** In the order in which Kubernetes visits them, with the path of each. */
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

/** All containers, in the same order. */
export function allContainers(spec: PodSpec): readonly Container[] {
  const { initContainers, containers, ephemeralContainers } = spec;
  return [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])];
}
