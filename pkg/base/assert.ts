/**
 * A violated invariant, which indicates a bug. Never thrown for client errors.
 */
export class AssertionFailure extends Error {
  override readonly name = "AssertionFailure";
}

/** Throws AssertionFailure unless `condition` holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}

/** Marks the place an exhaustive switch cannot reach. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable: ${String(value)}`);
}
