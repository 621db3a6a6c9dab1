import type { DeadVersion } from "./history.ts";
import type { Step } from "./state.ts";

/** What one write to the disk makes durable, all or nothing. */
export interface JournalGroup {
  /** In order of revision; each wrote something. */
  readonly steps: readonly Step[];
  /** Versions to forget. All of them are on the disk already. */
  readonly dead: readonly DeadVersion[];
  /** The oldest readable revision from now on. */
  readonly oldest: number;
}

/** Where an embedded store keeps what must survive the process. */
export interface Journal {
  /**
   * Resolves when the group would survive a power failure. Rejects with StoreFault: `no-space` when
   * nothing of the group was written, anything else when that is not known or no write can follow.
   */
  commit(group: JournalGroup): Promise<void>;
  close(): Promise<void>;
}
