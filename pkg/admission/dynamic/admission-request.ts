import type { Resource } from "#meta";
import type { AdmissionAttributes } from "#registry";
import type { VersionedAttributes } from "./versioned-attributes.ts";
import type { Json } from "./versions.ts";

/** Head of an AdmissionRequest (without uid and objects), fields in wire order. */
export function admissionRequest(reviewed: VersionedAttributes, as: Resource): Json {
  const { attributes, resource, subresource, name, namespace, operation } = reviewed;
  const below = subresource === "" ? {} : { subResource: subresource };
  const asked = subresource === "" ? {} : { requestSubResource: subresource };
  return {
    kind: reviewed.kindIn(as),
    resource: groupVersionResource(as),
    ...below,
    requestKind: reviewed.kindIn(resource),
    requestResource: groupVersionResource(resource),
    ...asked,
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation,
    userInfo: userInfo(attributes),
  };
}

/** Tail of an AdmissionRequest, after the objects. */
export function requestTail({ attributes }: VersionedAttributes, api: string): Json {
  const { dryRun, options } = attributes;
  if (options === undefined) return { dryRun, options: null };
  const { kind, ...given } = options;
  const apiVersion = `meta.${api}/v1`;
  return { dryRun, options: { kind, apiVersion, ...given } };
}

function groupVersionResource({ group, version, plural }: Resource): Json {
  return { group, version, resource: plural };
}

function userInfo({ request }: AdmissionAttributes): Json {
  const { name, uid, groups, extra } = request.user;
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}
