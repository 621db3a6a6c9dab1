import { formatSeconds } from "#meta";

/** Formats milliseconds since 1970 as metav1.Time: RFC 3339 in seconds. */
export function formatTime(ms: number): string {
  return formatSeconds({ seconds: Math.floor(ms / 1000), nanos: 0 });
}
