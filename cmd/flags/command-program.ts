import type { FlagGroup } from "./help.ts";

/** Exports of a command's module. The module is imported when the command runs. */
export interface CommandProgram {
  readonly groups: readonly FlagGroup[];
  readonly run: (words: readonly string[]) => Promise<void>;
}
