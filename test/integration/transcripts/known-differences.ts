import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tidy/source.ts";

/** known-differences.json: the replayed recordings, and their steps with a different response. */
export interface KnownDifferences {
  /** The reason of each class of differences. */
  readonly reasons: Readonly<Record<string, string>>;
  /** The class of a difference, by file name and step id. */
  readonly stories: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const file = path.join(root, "test/integration/transcripts/known-differences.json");

/** Class that UPDATE=1 gives to a new entry; to be replaced by one with a reason. */
export const unexplained = "unexplained";

export function readKnownDifferences(): KnownDifferences {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Rewrites the file: removes entries that no longer differ, adds new ones without a reason. */
export function writeKnownDifferences(
  known: KnownDifferences,
  found: ReadonlyMap<string, readonly string[]>,
): void {
  const stories = [...found].map(([story, steps]) => [
    story,
    Object.fromEntries(steps.map((step) => [step, known.stories[story]?.[step] ?? unexplained])),
  ]);
  const written = { reasons: known.reasons, stories: Object.fromEntries(stories.sort()) };
  writeFileSync(file, `${JSON.stringify(written, null, 2)}\n`);
}
