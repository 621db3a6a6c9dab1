import type { ApiService, ApiServiceCondition } from "../contract.ts";

/** Result of an availability check: the condition Available without its transition time. */
export interface Availability {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

const available = "Available";

export const localAvailability: Availability = {
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

/**
 * Status of the APIService with the condition Available updated; undefined if it is unchanged. The
 * transition time changes only with the condition's status.
 */
export function changedStatus(
  { status = {} }: ApiService,
  found: Availability,
  now: number,
): ApiService["status"] | undefined {
  const conditions = status.conditions ?? [];
  const present = conditions.find(({ type }) => type === available);
  const isSame =
    present?.status === found.status &&
    (present.reason ?? "") === found.reason &&
    (present.message ?? "") === found.message;
  if (isSame) return undefined;
  const time = present?.status === found.status ? present.lastTransitionTime : rfc3339Seconds(now);
  const condition: ApiServiceCondition = {
    type: available,
    ...found,
    ...(time === undefined ? {} : { lastTransitionTime: time }),
  };
  const others = conditions.filter((each) => each !== present);
  return { ...status, conditions: [...others, condition] };
}

function rfc3339Seconds(now: number): string {
  return `${new Date(now).toISOString().slice(0, "2006-01-02T15:04:05".length)}Z`;
}
