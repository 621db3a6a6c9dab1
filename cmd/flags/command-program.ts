import type { FlagGroup } from "./help.ts";

/** What a command's module exports to the command line, which imports it when the command runs. */
export interface CommandProgram {
  readonly groups: readonly FlagGroup[];
  readonly run: (words: readonly string[]) => Promise<void>;
}
