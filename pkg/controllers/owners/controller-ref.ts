import type { ApiObject, Handle, OwnerReference } from "#client";
import { groupVersionOf } from "#meta";

/** Controller reference of an object; undefined = orphan. */
export function controllerOf({ metadata }: ApiObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: ApiObject, { metadata }: ApiObject): boolean {
  return controllerOf(object)?.uid === metadata.uid;
}

/** Owner reference that makes an object of `resource` the controller. */
export function controllerRef(resource: Handle, { metadata }: ApiObject): OwnerReference {
  return {
    apiVersion: groupVersionOf(resource.group, resource.version),
    kind: resource.kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
