/** volumes: matching of PersistentVolumes and claims, and the annotations of bindings. */
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
