import { memoize } from "#base";
import { type Resource, selectorFromLabelSelector } from "#meta";
import type { Json, VersionedAttributes } from "../dynamic/index.ts";
import { convertTo } from "../dynamic/index.ts";
import type { ObjectReader } from "../objects.ts";
import type { BoundPolicy, Policy } from "./policy.ts";

/** A misconfigured policy or binding; the message starts with which of the two. */
export class ParamsFault extends Error {
  override readonly name = "ParamsFault";
}

/** Parameter object in the version of paramKind; converted once per state of the object. */
const paramsIn = memoize((resource: Resource) =>
  memoize((hub: object): Promise<Json> => {
    const { signal } = new AbortController();
    return convertTo(hub, { from: resource, to: resource, signal });
  }),
);

/**
 * Parameters of a bound policy, which is evaluated once per parameter; null = once without parameters.
 * @throws ParamsFault
 */
export async function paramsOf(
  { policy, binding }: BoundPolicy<Policy>,
  reviewed: VersionedAttributes,
  {
    objects,
    resource,
  }: { readonly objects: ObjectReader; readonly resource: Resource | undefined },
): Promise<readonly (Json | null)[]> {
  const { paramRef } = binding.spec;
  if (resource === undefined || policy.spec.paramKind === undefined) return [null];
  if (paramRef === undefined) return [null];
  const namespace = namespaceOf(paramRef.namespace ?? "", resource, reviewed);
  const { group, version, plural } = resource;
  const where = { group, version, plural, namespace };
  const { context } = reviewed.attributes.request;
  const found =
    paramRef.selector === undefined
      ? [await objects.find(where, paramRef.name ?? "", context)]
      : await objects.list(
          { ...where, labelSelector: selectorFromLabelSelector(paramRef.selector).toString() },
          context,
        );
  const params = found.filter((object) => object !== undefined);
  if (params.length === 0 && paramRef.parameterNotFoundAction === "Deny") {
    throw wrong("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return Promise.all(params.map(paramsIn(resource)));
}

function namespaceOf(named: string, { kind }: Resource, reviewed: VersionedAttributes): string {
  if (kind.scope === "Cluster") {
    if (named === "") return "";
    throw wrong("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  const namespace = named || reviewed.namespace;
  if (namespace !== "") return namespace;
  throw wrong(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}

function wrong(why: string): ParamsFault {
  return new ParamsFault(`failed to configure binding: ${why}`);
}
