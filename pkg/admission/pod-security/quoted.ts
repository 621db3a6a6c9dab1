/** Messages of violations, as in Kubernetes. */

/** One check of a standard that a pod fails. */
export interface Violation {
  readonly reason: string;
  /** Detail; "" if the reason is sufficient. */
  readonly detail: string;
}

export function plural(one: string, many: string, count: number): string {
  return count === 1 ? one : many;
}

/** `"a", "b"`: quoted without escapes, as in Kubernetes. */
export function quotedList(names: Iterable<string>): string {
  return [...names].map((name) => `"${name}"`).join(", ");
}

/** `container "a"` or `containers "a", "b"` */
export function containersText(names: readonly string[]): string {
  return `${plural("container", "containers", names.length)} ${quotedList(names)}`;
}

/** The parts of a pod that set a forbidden value: `pod and container "a"`; "" if there are none. */
export function settersText(
  pod: boolean,
  containers: readonly string[],
  annotations: readonly string[] = [],
): string {
  const setters = [
    ...(pod ? ["pod"] : []),
    ...(containers.length > 0 ? [containersText(containers)] : []),
    ...(annotations.length > 0 ? [plural("annotation", "annotations", annotations.length)] : []),
  ];
  return setters.join(" and ");
}

export function violationsText(violations: readonly Violation[]): string {
  return violations
    .map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`))
    .join(", ");
}
