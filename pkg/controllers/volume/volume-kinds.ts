/** Volume kinds, as far as their controllers know them. */
import type { ApiObject, Handle } from "#client";
import { type Domain, resolve } from "#meta";

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec?: { readonly volumeAttributesClassName?: string };
  readonly status?: {
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string };
  };
}

export interface PersistentVolume extends ApiObject {
  readonly spec?: { readonly volumeAttributesClassName?: string };
  readonly status?: { readonly phase?: string };
}

export const persistentVolumeClaims: Handle<PersistentVolumeClaim> = {
  group: "",
  version: "v1",
  plural: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
};

export const persistentVolumes: Handle<PersistentVolume> = {
  group: "",
  version: "v1",
  plural: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
};

export function volumeAttributesClasses(domain: Domain): Handle {
  const names = { plural: "volumeattributesclasses", kind: "VolumeAttributesClass" };
  return { group: resolve("storage.{api}", domain), version: "v1", ...names, namespaced: false };
}
