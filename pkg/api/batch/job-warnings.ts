import type { Path } from "#schema";
import type { HookContext } from "#meta";
import { type HasGeneration, keepsGeneration, podWarnings } from "../core/pod/pod-warnings.ts";
import type { JobSpec } from "./job-structs.ts";

/** Completions and parallelism above which the status may not hold all completed indexes. */
const manyCompletions = 100_000;
const highParallelism = 10_000;

/** Warnings about a Job or job template; none if an update does not change the spec. */
export function jobSpecWarnings(
  { completionMode, completions = 0, parallelism = 0, template }: JobSpec,
  path: Path,
  {
    object,
    old,
    context,
  }: {
    readonly object: HasGeneration;
    readonly old: HasGeneration | undefined;
    readonly context: HookContext;
  },
): readonly string[] {
  if (context.subresource !== "" || keepsGeneration(object, old)) return [];
  const isMuch =
    completionMode === "Indexed" && completions > manyCompletions && parallelism > highParallelism;
  const message =
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher " +
    "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of " +
    "indexes fail";
  return [
    ...(isMuch ? [`${path}: ${message}`] : []),
    ...podWarnings(template, path.child("template"), context),
  ];
}
