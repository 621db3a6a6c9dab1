import type { Path, Problems } from "#schema";
import { isQualifiedName } from "#meta";
import { invalidEach, unsupported } from "../strategy.ts";

export const oldestEmulationVersion = "OldestEmulationVersion";

/** Validates an election strategy: a known name, or one with a domain prefix. */
export function checkStrategyName(strategy: string, parent: Path, problems: Problems): void {
  const path = parent.child("strategy");
  if (strategy.includes("/")) {
    invalidEach(problems, path, { value: strategy, messages: isQualifiedName(strategy) });
  } else if (strategy !== oldestEmulationVersion) {
    unsupported(problems, path, { value: strategy, supported: [oldestEmulationVersion] });
  }
}
