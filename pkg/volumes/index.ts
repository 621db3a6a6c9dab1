/** volumes: which volumes suit a claim, and the annotations that bind them. */
export {
  findVolume,
  hasSameMode,
  isBoundTo,
  type MatchingVolumes,
  matchingVolumes,
  mismatchOf,
  reservedFor,
  sizeOf,
} from "./volume-match.ts";
export { VolumeNames } from "./volume-names.ts";
