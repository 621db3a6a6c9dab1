import type { Catalog } from "#meta";
import { unknownConversion, unregisteredKind } from "#registry";
import type { Json } from "./versions.ts";

interface Patched {
  readonly before: Json;
  readonly after: unknown;
  readonly catalog: Catalog;
  /** Group of the kind. */
  readonly group: string;
}

/** The error of decoding a patched object whose kind or apiVersion has changed; a patch may remove them. */
export function kindFault({
  before,
  after,
  catalog,
  group,
}: Patched): { readonly message: string; readonly isUnknown: boolean } | undefined {
  const { kind = before["kind"], apiVersion = before["apiVersion"] } = (after ?? {}) as Json;
  if (kind === before["kind"] && apiVersion === before["apiVersion"]) return undefined;
  const typeMeta = { kind: String(kind), apiVersion: String(apiVersion) };
  const isUnknown = !catalog.resources.some(
    (each) => each.groupVersion === apiVersion && each.kind.kind === kind,
  );
  const message = isUnknown
    ? unregisteredKind(typeMeta)
    : unknownConversion(typeMeta, { group, kind: String(before["kind"]) });
  return { message, isUnknown };
}
