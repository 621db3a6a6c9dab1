import { isConflict, isNotFound } from "#meta";
import type { ServerAccess } from "#registry";
import type { Dialer, Tracer } from "#request";

/** Dependencies of serving definitions. */
export interface DefinitionOptions extends ServerAccess {
  /** Connects to conversion webhooks. */
  readonly dialer: Dialer;
  /** Traces calls of conversion webhooks. */
  readonly tracer?: Tracer;
  /**
   * Time in ms, from when this server saw the deletionTimestamp, until all other servers have seen it.
   */
  readonly settleMs: () => Promise<number>;
}

/** Whether the error is a conflict or "not found": the next watch event triggers another sync. */
export function isOutdated(error: unknown): boolean {
  return isConflict(error) || isNotFound(error);
}
