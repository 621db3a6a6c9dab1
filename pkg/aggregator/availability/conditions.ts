import type { ApiService, ApiServiceCondition } from "../contract.ts";

/** What a check has found: the condition Available without its times. */
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
 * Status of an APIService with the condition Available as found, or undefined if that is what it
 * says already. The transition time changes with the condition's status alone.
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
