/** plugins/storage: claims, volumes and classes. */
export { defaultStorageClass } from "./default-storage-class.ts";
export { persistentVolumeClaimResize } from "./persistent-volume-claim-resize.ts";
export { storageObjectInUseProtection } from "./storage-object-in-use-protection.ts";
