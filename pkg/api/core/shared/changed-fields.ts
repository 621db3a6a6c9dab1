import { deepEqual } from "#base";

/**
 * A line that names the fields in which two specs differ, for messages about immutable specs, where
 * Kubernetes prints a diff of Go values: `changed: accessModes, volumeName`.
 */
export function changedFields<T extends object>(now: T, before: T): string {
  const fields = Object.keys({ ...now, ...before }).filter(
    (field) => !deepEqual(now[field as keyof T], before[field as keyof T]),
  );
  return `changed: ${fields.sort().join(", ")}`;
}
