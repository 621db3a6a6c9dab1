import { type ControllerSettings, defaultControllerSettings } from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";

/** Flags of the controllers of volumes. */
export const volumeFlags = {
  "disable-force-detach-on-timeout": flag(
    "bool",
    defaultControllerSettings.disableForceDetach,
    "never force the detachment of volumes from unhealthy nodes that still report them in use; " +
      "otherwise they are detached after six minutes",
  ),
  "pvclaimbinder-sync-period": flag(
    "duration",
    defaultControllerSettings.volumeSyncMs,
    "resync period of PersistentVolumes and PersistentVolumeClaims",
    { minimum: 1 },
  ),
} as const;

export function volumeSettings(values: FlagValues<typeof volumeFlags>) {
  return {
    disableForceDetach: values["disable-force-detach-on-timeout"],
    volumeSyncMs: values["pvclaimbinder-sync-period"],
  } satisfies Partial<ControllerSettings>;
}
