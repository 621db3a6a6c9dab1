import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tidy/source.ts";

/** known-differences.json: the stories that are replayed, and the steps that differ on them. */
export interface KnownDifferences {
  /** Class of differences -> why answers of this class differ. */
  readonly reasons: Readonly<Record<string, string>>;
  /** File name -> step id -> class. */
  readonly stories: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const file = path.join(root, "test/integration/transcripts/known-differences.json");

/** Class that UPDATE=1 gives to a new row; a person replaces it by one that has a reason. */
export const UNEXPLAINED = "unexplained";

export function readKnownDifferences(): KnownDifferences {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Rewrites the file: rows that differ no longer go, new ones are added without a reason. */
export function writeKnownDifferences(
  known: KnownDifferences,
  found: ReadonlyMap<string, readonly string[]>,
): void {
  const stories = [...found].map(([story, steps]) => [
    story,
    Object.fromEntries(steps.map((step) => [step, known.stories[story]?.[step] ?? UNEXPLAINED])),
  ]);
  const written = { reasons: known.reasons, stories: Object.fromEntries(stories.sort()) };
  writeFileSync(file, `${JSON.stringify(written, null, 2)}\n`);
}
