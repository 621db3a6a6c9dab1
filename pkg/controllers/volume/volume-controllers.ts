/** The controllers of volumes and claims, with the names of kube-controller-manager. */
import {
  defaultVolumeSyncMs,
  type PersistentVolumeBinderOptions,
  runPersistentVolumeBinder,
} from "./binder/persistent-volume-binder-controller.ts";
import { runPersistentVolumeExpander } from "./persistent-volume-expander-controller.ts";

export interface VolumeSettings extends PersistentVolumeBinderOptions {}

/** Defaults of kube-controller-manager. */
export const defaultVolumeSettings = { volumeSyncMs: defaultVolumeSyncMs } as const;

export const volumeControllers = [
  {
    name: "persistentvolume-binder-controller",
    alias: "persistentvolume-binder",
    serviceAccount: "persistent-volume-binder",
    enabledByDefault: true,
    run: runPersistentVolumeBinder,
  },
  {
    name: "persistentvolume-expander-controller",
    alias: "persistentvolume-expander",
    serviceAccount: "expand-controller",
    enabledByDefault: true,
    run: runPersistentVolumeExpander,
  },
] as const;
