import type { DeadVersion } from "./history.ts";
import type { Step } from "./state.ts";

/** The contents of one atomic write to the journal. */
export interface JournalGroup {
  /** Steps with events, in order of revision. */
  readonly steps: readonly Step[];
  /** Versions to delete, all of which are in the journal. */
  readonly dead: readonly DeadVersion[];
  /** The oldest readable revision after the write. */
  readonly oldest: number;
}

/** The durable storage of an embedded store. */
export interface Journal {
  /**
   * Resolves when the group survives a power failure.
   * @throws StoreFault `no-space` if nothing was written; after any other fault the outcome is unknown
   *   and the journal cannot be written any more
   */
  commit(group: JournalGroup): Promise<void>;
  close(): Promise<void>;
}
