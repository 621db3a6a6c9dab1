/** How violations are told. */

/** What a pod does that a standard does not allow. */
export interface Violation {
  readonly reason: string;
  /** "" = the reason says it all. */
  readonly detail: string;
}

export function plural(one: string, many: string, count: number): string {
  return count === 1 ? one : many;
}

/** `"a", "b"` */
export function quotedList(names: Iterable<string>): string {
  return [...names].map((name) => JSON.stringify(name)).join(", ");
}

/** `container "a"` or `containers "a", "b"` */
export function containersText(names: readonly string[]): string {
  return `${plural("container", "containers", names.length)} ${quotedList(names)}`;
}

/** Who sets what must not be set: `pod and container "a"`; "" for nobody. */
export function settersText(pod: boolean, containers: readonly string[]): string {
  const setters = [
    ...(pod ? ["pod"] : []),
    ...(containers.length > 0 ? [containersText(containers)] : []),
  ];
  return setters.join(" and ");
}

export function violationsText(violations: readonly Violation[]): string {
  return violations
    .map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`))
    .join(", ");
}
