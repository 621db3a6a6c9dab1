/** Who may say that an object belongs to another (OwnerReferencesPermissionEnforcement). */
import { deepEqual } from "#base";
import type { Catalog } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import type { Authorizer, RequestInfo } from "#request";
import { refuse } from "../../objects.ts";

export interface OwnerPermissionParts {
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
}

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean | null;
}

/**
 * Giving an object an owner can get it deleted, so it takes the right to delete it; holding an
 * owner's deletion up takes the right to set the owner's finalizers.
 */
export function ownerPermissions(parts: OwnerPermissionParts): AdmissionHandler {
  return async (attributes) => {
    const { request, operation, object, old } = attributes;
    const isPodStatus = request.resource.keyPrefix === "/pods/" && request.subresource === "status";
    if (operation === "delete" || isPodStatus) return [];
    const [owners, before] = [ownersOf(object), ownersOf(old)];
    if (deepEqual(owners, before)) return [];
    if (operation === "update") await mayDelete(parts, attributes);
    const blocking = new Set(before.filter(blocks).map(({ uid }) => uid));
    for (const owner of owners.filter((each) => blocks(each) && !blocking.has(each.uid))) {
      await mayBlock(parts, attributes, owner);
    }
    return [];
  };
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
  const request = { ...anything, ...asked, verb: "delete" };
  const { verdict, reason, error = "<nil>" } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return;
  const story = "cannot set an ownerRef on a resource you can't delete";
  throw refuse(attributes, `${story}: ${reason}, ${error}`);
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
    throw refuse(attributes, `cannot set blockOwnerDeletion in this case because ${why}`);
  }
  const request = {
    ...anything,
    verb: "update",
    group: owner.group,
    version: owner.version,
    namespace: owner.kind.scope === "Namespaced" ? namespace : "",
    resource: owner.plural,
    subresource: "finalizers",
    name,
  };
  const { verdict, reason, error = "<nil>" } = await authorizer.authorize({ user, request });
  if (verdict === "allow") return;
  const story =
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set " +
    "finalizers on";
  throw refuse(attributes, `${story}: ${reason}, ${error}`);
}

const anything: RequestInfo = {
  isResource: true,
  path: "",
  verb: "",
  apiPrefix: "apis",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  rest: [],
};
