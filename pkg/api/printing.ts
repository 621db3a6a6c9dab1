/** Helpers for the table columns and rows of kinds. */
import type { Column } from "#meta";

/** Declares a column, of type string and priority 0 by default. */
export function column(
  name: string,
  description: string,
  rest: Partial<Omit<Column, "name" | "description">> = {},
): Column {
  return { name, type: "string", format: "", priority: 0, description, ...rest };
}

export const nameColumn: Column = column(
  "Name",
  "Name of the object, unique per resource within its namespace.",
  {
    format: "name",
  },
);

export const ageColumn: Column = column("Age", "Time since the object was created.");

/** Default columns: name and age. */
export const plainColumns: readonly Column[] = [
  nameColumn,
  column("Created At", "Time at which the object was created.", { type: "date" }),
];

interface HasMetadata {
  readonly metadata: { readonly name?: string; readonly creationTimestamp?: string | null };
}

export function nameOf(object: HasMetadata): string {
  return object.metadata.name ?? "";
}

/** Cells for `plainColumns`. */
export function plainRow(object: HasMetadata): readonly [string, string | null] {
  return [nameOf(object), object.metadata.creationTimestamp ?? null];
}

/** Age of an object; `now` in milliseconds since 1970. */
export function ageOf(object: HasMetadata, { now }: { readonly now: number }): string {
  return timeSince(object.metadata.creationTimestamp, now);
}

/** `5m` for an RFC 3339 time five minutes before `now` (milliseconds); `<unknown>` for no time. */
export function timeSince(time: string | null | undefined, now: number): string {
  return time ? humanDuration(now - Date.parse(time)) : "<unknown>";
}

/**
 * A duration in milliseconds in the two coarsest units that still tell something, as Kubernetes'
 * tables print it: `119s`, `9m59s`, `7h59m`, `7d23h`, `3y30d`. A second of clock skew counts as 0s.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return units(minutes, "m", seconds % 60, "s");
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return units(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return units(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  if (days < 8 * 365) return units(Math.floor(days / 365), "y", days % 365, "d");
  return `${Math.floor(days / 365)}y`;
}

function units(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
