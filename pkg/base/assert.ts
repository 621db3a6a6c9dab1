/**
 * Thrown when an invariant that only a bug can break is broken. Never for what a client can cause.
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
