import { type ControllerSettings, defaultControllerSettings } from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";

/** Flags of the controllers of volumes. */
export const volumeFlags = {
  "pvclaimbinder-sync-period": flag(
    "duration",
    defaultControllerSettings.volumeSyncMs,
    "period after which all PersistentVolumes and PersistentVolumeClaims are synced again",
    { minimum: 1 },
  ),
} as const;

export function volumeSettings(values: FlagValues<typeof volumeFlags>) {
  return {
    volumeSyncMs: values["pvclaimbinder-sync-period"],
  } satisfies Partial<ControllerSettings>;
}
