/** Success policies of Indexed Jobs. */
import type { JobSpec } from "#kinds";
import { countCommon, countIndexes, type Intervals, parseIntervals } from "./index-intervals.ts";

/** Message for the first rule that the succeeded indexes satisfy; undefined = none. */
export function metSuccessRule(
  { successPolicy, completions = 0 }: JobSpec,
  succeeded: Intervals,
): string | undefined {
  if (succeeded.length === 0) return undefined;
  const index = (successPolicy?.rules ?? []).findIndex(
    ({ succeededIndexes, succeededCount = Infinity }) => {
      if (succeededIndexes === undefined) return countIndexes(succeeded) >= succeededCount;
      const required = parseIntervals(succeededIndexes, completions);
      if (required.length === 0) return false;
      const common = countCommon(required, succeeded);
      return common === countIndexes(required) || common >= succeededCount;
    },
  );
  return index < 0 ? undefined : `Matched rules at index ${index}`;
}
