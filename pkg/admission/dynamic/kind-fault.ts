import type { Catalog } from "#meta";
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
  const isKnown = catalog.resources.some(
    (each) => each.groupVersion === apiVersion && each.kind.kind === kind,
  );
  if (!isKnown) {
    const named = `no kind ${JSON.stringify(kind)} is registered for version`;
    const scheme = 'scheme "pkg/api/legacyscheme/scheme.go:30"';
    const message = `${named} ${JSON.stringify(apiVersion)} in ${scheme}`;
    return { message, isUnknown: true };
  }
  const version = String(apiVersion).split("/").at(-1);
  const own = group === "" ? "core" : group.split(".", 1)[0];
  const types = `(${version}.${String(kind)}) to (${own}.${String(before["kind"])})`;
  return { message: `converting ${types}: unknown conversion`, isUnknown: false };
}
