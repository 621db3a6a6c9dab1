import type { PriorityLevel } from "#api";
import type { PriorityLevelSettings } from "../contract.ts";

/** A PriorityLevelConfiguration; a mandatory one that is not stored has no uid. */
export interface PriorityLevelObject {
  readonly metadata: { readonly name: string; readonly uid?: string };
  readonly spec: PriorityLevel["spec"];
}

const defaultShares = 30;
export const exemptName = "exempt";

/**
 * The settings of a level for dispatch; undefined if the spec is invalid, which objects written to the
 * store directly may be.
 */
export function settingsOf({
  metadata,
  spec,
}: PriorityLevelObject): PriorityLevelSettings | undefined {
  const { type, limited, exempt } = spec;
  const { name } = metadata;
  if ((type === "Exempt") !== (name === exemptName)) return undefined;
  if (type === "Exempt") {
    const { nominalConcurrencyShares = 0, lendablePercent = 0 } = exempt ?? {};
    if (!isCount(nominalConcurrencyShares) || !isPercentage(lendablePercent)) return undefined;
    return { name, type, nominalConcurrencyShares, lendablePercent };
  }
  return type === "Limited" && limited !== undefined ? limitedSettings(name, limited) : undefined;
}

function limitedSettings(
  name: string,
  limited: NonNullable<PriorityLevel["spec"]["limited"]>,
): PriorityLevelSettings | undefined {
  const { lendablePercent = 0, borrowingLimitPercent, limitResponse } = limited;
  const nominalConcurrencyShares = limited.nominalConcurrencyShares ?? defaultShares;
  const { type, queuing } = limitResponse;
  const isConsistent = type === "Queue" ? queuing !== undefined : type === "Reject" && !queuing;
  if (!isConsistent || !isCount(nominalConcurrencyShares) || !isPercentage(lendablePercent)) {
    return undefined;
  }
  if (borrowingLimitPercent !== undefined && !isCount(borrowingLimitPercent)) return undefined;
  const shares = { nominalConcurrencyShares, lendablePercent, borrowingLimitPercent };
  return { name, type: "Limited", ...shares, queuing };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function isPercentage(value: number): boolean {
  return isCount(value) && value <= 100;
}
