import { isConflict, isNotFound } from "#meta";
import type { ServerAccess } from "#registry";
import type { Tracer } from "#request";

/** What definitions are served with. */
export interface DefinitionOptions extends ServerAccess {
  /** Records calls to webhooks. */
  readonly tracer?: Tracer;
  /**
   * Time for which other servers may not know that a definition is being deleted, in ms from when
   * this one saw it.
   */
  readonly settleMs: () => Promise<number>;
}

/** A conflict, or the object is gone: the next event triggers another attempt. */
export function isOutdated(error: unknown): boolean {
  return isConflict(error) || isNotFound(error);
}
