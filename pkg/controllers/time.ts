import { formatSeconds } from "#meta";

/** Milliseconds since 1970 as a time of the API, to the second. */
export function formatTime(ms: number): string {
  return formatSeconds({ seconds: Math.floor(ms / 1000), nanos: 0 });
}
