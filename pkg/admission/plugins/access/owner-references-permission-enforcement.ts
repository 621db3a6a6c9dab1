import { deepEqual } from "#base";
import type { AdmissionAttributes } from "#registry";
import { resourceRequestInfo } from "#request";
import { forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin, PluginDependencies } from "../../plugin.ts";

type OwnerPermissionParts = Pick<PluginDependencies, "authorizer" | "catalog">;

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean | null;
}

/**
 * Changing ownerReferences needs permission to delete the object, since the garbage collector may
 * then delete it; setting blockOwnerDeletion needs permission to update the owner's finalizers.
 */
export const ownerReferencesPermissionEnforcement: AdmissionPlugin = {
  name: "OwnerReferencesPermissionEnforcement",
  enabled: "optional",
  create: (parts) => ({
    validate: (attributes) => {
      const { request, operation, object, old } = attributes;
      const isPodStatus =
        request.resource.keyPrefix === "/pods/" && request.subresource === "status";
      if (operation === "delete" || isPodStatus) return undefined;
      if (deepEqual(ownersOf(object), ownersOf(old))) return undefined;
      return check(parts, attributes);
    },
  }),
};

async function check(
  parts: OwnerPermissionParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { operation, object, old } = attributes;
  const before = ownersOf(old);
  if (operation === "update") await mayDelete(parts, attributes);
  const blocking = new Set(before.filter(blocks).map(({ uid }) => uid));
  for (const owner of ownersOf(object)) {
    if (blocks(owner) && !blocking.has(owner.uid)) await mayBlock(parts, attributes, owner);
  }
  return [];
}

function ownersOf(object: any): readonly Owner[] {
  return object?.metadata?.ownerReferences ?? [];
}

function blocks({ blockOwnerDeletion }: Owner): boolean {
  return Boolean(blockOwnerDeletion);
}

async function mayDelete(
  { authorizer }: OwnerPermissionParts,
  attributes: AdmissionAttributes,
): Promise<void> {
  const { resource, namespace, name, subresource, user } = attributes.request;
  const { group, version, plural } = resource;
  const asked = { group, version, namespace, resource: plural, subresource, name };
  const request = resourceRequestInfo({ verb: "delete", ...asked });
  const { verdict, reason, error = "<nil>" } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return;
  const story = "cannot set an ownerRef on a resource you can't delete";
  throw forbiddenRequest(attributes, `${story}: ${reason}, ${error}`);
}

async function mayBlock(
  { authorizer, catalog }: OwnerPermissionParts,
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: Owner,
): Promise<void> {
  const { namespace, user } = attributes.request;
  const owner = catalog.resources.find(
    (each) => each.groupVersion === apiVersion && each.kind.kind === kind,
  );
  if (owner === undefined) {
    const missing = `cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`;
    const matches = `no matches for kind ${JSON.stringify(kind)} in version`;
    const why = `${missing}: ${matches} ${JSON.stringify(apiVersion)}`;
    throw forbiddenRequest(attributes, `cannot set blockOwnerDeletion in this case because ${why}`);
  }
  const request = resourceRequestInfo({
    verb: "update",
    group: owner.group,
    version: owner.version,
    namespace: owner.kind.scope === "Namespaced" ? namespace : "",
    resource: owner.plural,
    subresource: "finalizers",
    name,
  });
  const { verdict, reason, error = "<nil>" } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return;
  const story =
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set " +
    "finalizers on";
  throw forbiddenRequest(attributes, `${story}: ${reason}, ${error}`);
}
