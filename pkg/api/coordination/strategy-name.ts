import type { Path, Problems } from "#schema";
import { isQualifiedName } from "#meta";
import { invalidEach, unsupported } from "../strategy.ts";

export const OLDEST_EMULATION_VERSION = "OldestEmulationVersion";

/** Validates an election strategy: a known name, or one with a domain prefix. */
export function checkStrategyName(strategy: string, parent: Path, problems: Problems): void {
  const path = parent.child("strategy");
  if (strategy.includes("/")) {
    invalidEach(problems, path, { value: strategy, messages: isQualifiedName(strategy) });
  } else if (strategy !== OLDEST_EMULATION_VERSION) {
    unsupported(problems, path, { value: strategy, supported: [OLDEST_EMULATION_VERSION] });
  }
}
