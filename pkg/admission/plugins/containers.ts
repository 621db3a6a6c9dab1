/** The fields of a pod's spec that list containers. */
export const containerFields = ["initContainers", "containers", "ephemeralContainers"] as const;

/** All containers of a pod, in the order of `containerFields`; none for undefined. */
export function containersOf(pod: any): readonly any[] {
  return containerFields.flatMap((field) => pod?.spec[field] ?? []);
}
