/**
 * Status code of a plugin; undefined = Success.
 *
 * - `Unschedulable`: evicting pods may help.
 * - `UnschedulableAndUnresolvable`: evicting pods does not help.
 * - `Pending`: the pod waits for another component; an event requeues it without backoff.
 * - `Skip`: the plugin has nothing to do for this pod.
 * - `Wait`: a Permit plugin delays the binding.
 */
export type StatusCode =
  | "Unschedulable"
  | "UnschedulableAndUnresolvable"
  | "Pending"
  | "Skip"
  | "Wait"
  | "Error";

export interface Status {
  readonly code: StatusCode;
  readonly reasons: readonly string[];
  /** Name of the plugin that returned it; "" = the framework. */
  readonly plugin: string;
  readonly error?: unknown;
  /**
   * Whether the filter paused at the end of its time slice. A caller that can yield to the event loop calls
   * it again; for others the rejection counts.
   */
  readonly isPaused?: boolean;
}

export function unschedulable(plugin: string, ...reasons: readonly string[]): Status {
  return { code: "Unschedulable", reasons, plugin };
}

export function unresolvable(plugin: string, ...reasons: readonly string[]): Status {
  return { code: "UnschedulableAndUnresolvable", reasons, plugin };
}

export const skip: Status = { code: "Skip", reasons: [], plugin: "" };

export function errorStatus(plugin: string, error: unknown): Status {
  const text = error instanceof Error ? error.message : String(error);
  return { code: "Error", reasons: [text], plugin, error };
}

/** Whether the status is a rejection, not an error. */
export function isRejected(status: Status): boolean {
  const { code } = status;
  return code === "Unschedulable" || code === "UnschedulableAndUnresolvable" || code === "Pending";
}

export function messageOf(status: Status | undefined): string {
  return status?.reasons.join(", ") ?? "";
}
