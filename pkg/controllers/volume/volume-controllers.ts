/** Controllers of volumes and claims, named as in kube-controller-manager. */
import {
  type AttachDetachOptions,
  runAttachDetachController,
} from "./attach-detach/attach-detach-controller.ts";
import {
  defaultVolumeSyncMs,
  type PersistentVolumeBinderOptions,
  runPersistentVolumeBinder,
} from "./binder/persistent-volume-binder-controller.ts";
import { runPersistentVolumeExpander } from "./persistent-volume-expander-controller.ts";

export interface VolumeSettings extends PersistentVolumeBinderOptions, AttachDetachOptions {}

/** Defaults of kube-controller-manager. */
export const defaultVolumeSettings = {
  volumeSyncMs: defaultVolumeSyncMs,
  disableForceDetach: false,
} as const;

export const volumeControllers = [
  {
    name: "persistentvolume-binder-controller",
    alias: "persistentvolume-binder",
    serviceAccount: "persistent-volume-binder",
    enabledByDefault: true,
    run: runPersistentVolumeBinder,
  },
  {
    name: "persistentvolume-attach-detach-controller",
    alias: "attachdetach",
    serviceAccount: "attachdetach-controller",
    enabledByDefault: true,
    run: runAttachDetachController,
  },
  {
    name: "persistentvolume-expander-controller",
    alias: "persistentvolume-expander",
    serviceAccount: "expand-controller",
    enabledByDefault: true,
    run: runPersistentVolumeExpander,
  },
] as const;
