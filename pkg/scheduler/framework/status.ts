/**
 * Outcome of a plugin; undefined stands for success.
 *
 * - `Unschedulable`: evicting pods may help.
 * - `UnschedulableAndUnresolvable`: evicting pods does not help.
 * - `Pending`: the pod waits for another component; a change skips the backoff.
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
  /** Name of the plugin that answered; "" = the framework. */
  readonly plugin: string;
  readonly error?: unknown;
  /**
   * A filter has used up its slice of time: the rejection counts only for callers that cannot yield
   * to the event loop and ask once more.
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

/** Whether the pod cannot be scheduled for now, as opposed to an error. */
export function isRejected(status: Status): boolean {
  const { code } = status;
  return code === "Unschedulable" || code === "UnschedulableAndUnresolvable" || code === "Pending";
}

export function messageOf(status: Status | undefined): string {
  return status?.reasons.join(", ") ?? "";
}
