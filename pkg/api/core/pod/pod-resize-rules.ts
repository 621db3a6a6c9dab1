/** Validation of the subresource `resize`, which may change cpu and memory only. */
import { deepClone } from "#base";
import { Path, type Problems, semanticEquality } from "#schema";
import { entry } from "../../strategy.ts";
import type { Container } from "./container/containers.ts";
import { qualityClassOf } from "./qos-class.ts";
import { podSpec, type PodSpec } from "./spec/pod-spec.ts";
import type { Pod } from "./pod-types.ts";
import { resourceRequirements } from "../shared/resources.ts";
import { isSidecar } from "../shared/resource-amounts.ts";

const specPath = Path.of("spec");
const resizable = ["cpu", "memory"];

function hasPodResources({ resources }: PodSpec): boolean {
  const amounts = { ...resources?.requests, ...resources?.limits };
  return Object.keys(amounts).length > 0;
}

/** Message if a pod cannot be resized at all. */
function resizeRefusal(pod: Pod, old: Pod, mirrorKey: string): string | undefined {
  if (hasPodResources(old.spec) || hasPodResources(pod.spec)) {
    return "pods with pod-level resources cannot be resized";
  }
  if (entry(old.metadata.annotations, mirrorKey) !== undefined) {
    return "static pods cannot be resized";
  }
  return old.spec.os?.name === "windows" ? "windows pods cannot be resized" : undefined;
}

export function checkResize(
  pod: Pod,
  old: Pod,
  { mirrorKey, problems }: { readonly mirrorKey: string; readonly problems: Problems },
): void {
  const reason = resizeRefusal(pod, old, mirrorKey);
  if (reason !== undefined) return problems.forbidden(Path.of("[]"), reason);
  for (const field of ["containers", "initContainers"] as const) {
    if ((pod.spec[field] ?? []).length === (old.spec[field] ?? []).length) continue;
    const detail = "containers may not be added or removed on resize";
    return problems.forbidden(specPath.child(field), detail);
  }
  if (qualityClassOf(pod.spec) !== qualityClassOf(old.spec)) {
    const detail = "Pod QOS Class may not change as a result of resizing";
    problems.invalid(specPath, old.status.qosClass ?? "", detail);
  }
  checkContainers(pod.spec, old.spec, problems);
}

const sameSpec = semanticEquality(podSpec);
const sameResources = semanticEquality(resourceRequirements);

function checkContainers(spec: PodSpec, old: PodSpec, problems: Problems): void {
  const withOldResources = deepClone(spec);
  let fixed = false;
  for (const field of ["containers", "initContainers"] as const) {
    for (const [index, container] of (withOldResources[field] ?? []).entries()) {
      const before = old[field]?.[index];
      if (before === undefined) continue;
      if (field === "initContainers" && !isSidecar(before)) {
        fixed ||= !sameResources(container.resources ?? {}, before.resources ?? {});
        container.resources = before.resources;
        continue;
      }
      const path = specPath.child(field).index(index).child("resources");
      checkRemovals(container, before, { path, problems });
      container.resources = withOldAmounts(container, before);
    }
  }
  if (fixed) {
    const detail = "resources for non-sidecar init containers are immutable";
    problems.forbidden(specPath, detail);
  }
  if (sameSpec(withOldResources, old)) return;
  problems.forbidden(specPath, "only cpu and memory resources are mutable");
}

/** Rejects removal of requests and limits. */
function checkRemovals(
  { resources }: Container,
  before: Container,
  { path, problems }: { readonly path: Path; readonly problems: Problems },
): void {
  for (const field of ["limits", "requests"] as const) {
    const isGone = (name: string) =>
      entry(before.resources[field], name) !== undefined &&
      entry(resources[field], name) === undefined;
    if (!resizable.some(isGone)) continue;
    problems.forbidden(path.child(field), `resource ${field} cannot be removed`);
  }
}

/** The new resources with the old amounts of resizable resources. */
function withOldAmounts({ resources }: Container, before: Container): Container["resources"] {
  const result: Container["resources"] = { ...resources };
  for (const field of ["limits", "requests"] as const) {
    const rest = Object.entries(resources[field] ?? {}).filter(
      ([name]) => !resizable.includes(name),
    );
    const old = Object.entries(before.resources[field] ?? {}).filter(([name]) =>
      resizable.includes(name),
    );
    if (rest.length + old.length > 0) result[field] = Object.fromEntries([...rest, ...old]);
    else delete result[field];
  }
  return result;
}
