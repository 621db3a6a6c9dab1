import type { Catalog, Resource } from "#meta";
import { isDecodedBy, schemeOf, unknownConversion, unregisteredKind } from "#registry";
import type { Json } from "./versions.ts";

interface Patched {
  readonly before: Json;
  readonly after: unknown;
  readonly catalog: Catalog;
  /** Resource of the object before. */
  readonly as: Resource;
}

/** The error of decoding a patched object whose kind or apiVersion has changed; a patch may remove them. */
export function kindFault({
  before,
  after,
  catalog,
  as,
}: Patched): { readonly message: string; readonly isUnknown: boolean } | undefined {
  const { kind = before["kind"], apiVersion = before["apiVersion"] } = (after ?? {}) as Json;
  if (kind === before["kind"] && apiVersion === before["apiVersion"]) return undefined;
  const typeMeta = { kind: String(kind), apiVersion: String(apiVersion) };
  const scheme = schemeOf(as);
  const found = catalog.findKind(typeMeta.apiVersion, typeMeta.kind);
  const isUnknown = found === undefined || !isDecodedBy(scheme, found);
  const message = isUnknown
    ? unregisteredKind(typeMeta, scheme)
    : unknownConversion(typeMeta, { group: as.hub.group, kind: String(before["kind"]) });
  return { message, isUnknown };
}
